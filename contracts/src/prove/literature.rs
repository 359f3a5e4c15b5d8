//! Claims from the literature in their published form. Claims that rounding breaks are refuted and hold within a tolerance;
//! the others hold for every f64. `Unknown` marks claims that the search cannot prove yet.

use super::claims::judge_all;
use crate::contract::Verdict::{self, Proven, Refuted, Unknown};

struct Model {
    name: &'static str,
    quantities: &'static str,
    equations: &'static str,
    claims: &'static [(Verdict, &'static str)],
}

const MODELS: &[Model] = &[
    Model {
        name: "Amdahl",
        quantities: "s: '[0, 1]'; n: 'integer [1, 65536]'",
        equations: "speedup: 1 / (s + (1 - s) / n); efficiency: speedup / n; limit: n",
        claims: &[
            (Proven, "speedup > 0"),
            (Proven, "finite(speedup)"),
            (Unknown, "speedup >= 1 within 1e-12"),
            (Proven, "speedup <= n within 1e-12"),
            (Proven, "speedup increasing in n"),
            (Unknown, "speedup decreasing in s within 1e-12"),
            (Proven, "efficiency <= 1 within 1e-12"),
            (Proven, "s > 0 implies speedup * s <= 1 within 1e-12"),
            (Refuted, "speedup <= n"),
        ],
    },
    Model {
        name: "Gustafson",
        quantities: "s: '[0, 1]'; n: 'integer [1, 65536]'",
        equations: "scaled: n - s * (n - 1); other: s + (1 - s) * n",
        claims: &[
            (Unknown, "scaled >= 1"),
            (Proven, "scaled <= n"),
            (Proven, "scaled decreasing in s"),
            (Refuted, "scaled == other within 1e-12"),
            (Proven, "other >= 1 within 1e-12"),
            (Proven, "other <= n within 1e-12"),
        ],
    },
    Model {
        name: "M/M/1",
        quantities: "arrival: '[0, 1e6]'; service: '[1e-3, 1e6]'",
        equations: "load: arrival / service; wait: if arrival < service then 1 / (service - arrival) else 0",
        claims: &[
            (Proven, "load >= 0"),
            (Proven, "arrival < service implies load <= 1"),
            (Proven, "wait >= 0"),
            (Proven, "arrival < service implies wait > 0"),
            (Proven, "arrival < service implies wait >= 1 / service"),
            (Proven, "load < 1 implies 1 / (1 - load) >= 1"),
        ],
    },
    Model {
        name: "ring all-reduce",
        quantities: "p: 'integer [2, 65536]'; bytes: '[1, 1e15]'; bandwidth: '[1, 1e13]'; latency: '[0, 1]'",
        equations: "sent: 2 * (p - 1) / p * bytes; time: 2 * (p - 1) * latency + sent / bandwidth; \
                    bus: bytes / time * (2 * (p - 1) / p); factor: 2 * (p - 1) / p",
        claims: &[
            (Proven, "sent > 0"),
            (Proven, "factor < 2"),
            (Proven, "factor >= 1"),
            (Proven, "factor increasing in p"),
            (Proven, "sent <= 2 * bytes"),
            (Unknown, "sent >= bytes"),
            (Proven, "time increasing in bytes"),
            (Proven, "time decreasing in bandwidth"),
            (Proven, "time increasing in latency"),
            (Proven, "time increasing in p"),
            (Proven, "time > 0"),
            (Proven, "bus <= bandwidth within 1e-12"),
            (Proven, "time >= bytes / bandwidth within 1e-12"),
        ],
    },
    Model {
        name: "pipeline",
        quantities: "p: 'integer [1, 4096]'; m: 'integer [1, 65536]'; t: '[1e-9, 1e3]'",
        equations: "bubble: (p - 1) / (m + p - 1); ideal: m * t; total: (m + p - 1) * t; busy: m / (m + p - 1)",
        claims: &[
            (Proven, "bubble >= 0"),
            (Proven, "bubble < 1"),
            (Proven, "bubble increasing in p"),
            (Proven, "bubble decreasing in m"),
            (Proven, "total >= ideal"),
            (Proven, "bubble + busy == 1 within 1e-12"),
            (Proven, "busy > 0"),
            (Proven, "busy <= 1"),
            (Proven, "busy decreasing in p"),
            (Proven, "busy increasing in m"),
            (Proven, "ideal / total == busy within 1e-12"),
            (Proven, "p == 1 implies bubble == 0"),
        ],
    },
    Model {
        name: "speculation",
        quantities: "a: '[0, 0.99]'; g: 'integer [1, 32]'; c: '[0, 1]'",
        equations: "tokens: (1 - pow(a, g + 1)) / (1 - a); cost: g * c + 1; gain: tokens / cost",
        claims: &[
            (Proven, "tokens > 0"),
            (Proven, "cost >= 1"),
            (Proven, "gain > 0"),
            (Proven, "tokens increasing in g"),
            (Proven, "gain decreasing in c"),
            (Proven, "gain <= tokens"),
            (Proven, "tokens >= 1"),
            (Proven, "cost increasing in g"),
        ],
    },
    Model {
        name: "GQA",
        quantities: "layers: 'integer [1, 200]'; heads: 'integer [1, 256]'; group: 'integer [1, 256]'; width: 'integer [1, 512]'; \
                     tokens: 'integer [1, 1e6]'; bytes: '[0.5, 4]'",
        equations: "cache: 2 * layers * heads * width * tokens * bytes; shared: 2 * layers * ceil(heads / group) * width * tokens * bytes; \
                    ratio: cache / shared",
        claims: &[
            (Proven, "cache > 0"),
            (Unknown, "shared <= cache"),
            (Unknown, "ratio >= 1"),
            (Proven, "cache increasing in tokens"),
            (Proven, "cache(tokens: 2 * tokens) == 2 * cache"),
            (Proven, "shared decreasing in group"),
        ],
    },
    Model {
        name: "Williams",
        quantities: "peak: '[1e-3, 1e9]'; bandwidth: '[1e-3, 1e6]'; intensity: '[1e-6, 1e9]'; share: '(0, 1]'",
        equations: "ridge: peak / bandwidth; attainable: min(peak, intensity * bandwidth); ceiling: min(peak * share, intensity * bandwidth); \
                    time: max(1 / peak, 1 / (intensity * bandwidth))",
        claims: &[
            (Proven, "attainable <= peak"),
            (Proven, "ceiling <= attainable"),
            (Proven, "attainable increasing in intensity"),
            (Unknown, "intensity >= ridge implies attainable >= peak within 1e-12"),
            (Proven, "intensity <= ridge implies attainable <= intensity * bandwidth"),
            (Proven, "ridge * bandwidth == peak within 1e-12"),
            (Unknown, "time * attainable <= 1 within 1e-12"),
            (Unknown, "time * attainable >= 1 within 1e-12"),
            (Refuted, "intensity >= ridge implies attainable >= peak"),
        ],
    },
    Model {
        name: "energy roofline",
        quantities: "flops: '[1, 1e18]'; bytes: '[1, 1e15]'; eflop: '[1e-13, 1e-9]'; ebyte: '[1e-12, 1e-8]'; pconst: '[0, 1e3]'; time: '[1e-9, 1e6]'",
        equations: "energy: flops * eflop + bytes * ebyte + pconst * time; intensity: flops / bytes; balance: ebyte / eflop; \
                    efficiency: flops / energy; arch: intensity / (intensity + balance)",
        claims: &[
            (Proven, "energy > 0"),
            (Proven, "energy >= flops * eflop"),
            (Proven, "efficiency <= 1 / eflop within 1e-12"),
            (Proven, "arch >= 0"),
            (Proven, "arch <= 1"),
            (Proven, "energy increasing in bytes"),
            (Proven, "arch increasing in flops within 1e-12"),
            (Unknown, "efficiency increasing in flops within 1e-12"),
        ],
    },
    Model {
        name: "Little",
        quantities: "latency: '[1e-9, 1]'; rate: '[1, 1e12]'; size: '[1, 1e6]'",
        equations: "inflight: latency * rate; reached: inflight / latency; lines: ceil(inflight / size)",
        claims: &[
            (Proven, "inflight > 0"),
            (Proven, "reached == rate within 1e-12"),
            (Proven, "inflight increasing in latency"),
            (Proven, "lines >= 1"),
            (Refuted, "reached == rate"),
        ],
    },
    Model {
        name: "mixture of experts",
        quantities: "experts: 'integer [1, 1024]'; active: 'integer [1, 1024]'; each: '[1, 1e10]'; base: '[1, 1e11]'; tokens: 'integer [1, 1e5]'",
        equations: "total: base + experts * each; used: base + active * each; share: used / total; touched: min(experts, tokens * active)",
        claims: &[
            (Proven, "active <= experts implies used <= total"),
            (Proven, "active <= experts implies share <= 1"),
            (Proven, "share > 0"),
            (Proven, "touched <= experts"),
            (Proven, "active <= experts implies touched >= active"),
            (Proven, "share decreasing in experts"),
            (Proven, "share increasing in active"),
        ],
    },
    Model {
        name: "convex combination",
        quantities: "s: '[0, 1]'; a: '[1, 100]'; b: '[1, 1000]'; c: '[1, 10]'; x: '[1e-9, 1e6]'",
        equations: "mix: s * a + (1 - s) * b; part: x / (x + c); harmonic: 1 / (s / a + (1 - s) / b)",
        claims: &[
            (Unknown, "a <= b implies mix <= b within 1e-12"),
            (Unknown, "a <= b implies mix >= a within 1e-12"),
            (Unknown, "mix >= min(a, b) within 1e-12"),
            (Unknown, "mix <= max(a, b) within 1e-12"),
            (Proven, "part >= 0"),
            (Proven, "part <= 1"),
            (Proven, "part increasing in x within 1e-12"),
            (Proven, "part decreasing in c"),
            (Unknown, "harmonic <= max(a, b) within 1e-12"),
            (Unknown, "harmonic >= min(a, b) within 1e-12"),
            (Unknown, "a <= b implies harmonic <= mix within 1e-12"),
        ],
    },
];

fn kind(claim: &str) -> &'static str {
    let direction = [" increasing in ", " decreasing in "].iter().any(|word| claim.contains(word));
    if direction && !claim.contains(" implies ") { "monotonicity" } else { "invariant" }
}

#[test]
fn claims_from_the_literature_have_their_verdicts_in_f64() {
    let mut wrong = Vec::new();
    for model in MODELS {
        let lines = |list: &str, what: fn(&str, &str) -> String| -> String {
            (list.split(';').filter_map(|item| item.trim().split_once(": ")))
                .map(|(name, value)| what(name.trim(), value.trim()))
                .collect()
        };
        let quantities =
            lines(model.quantities, |name, domain| format!("  {name}: {{unit: '1', domain: {domain}}}\n"));
        let equations = lines(model.equations, |name, formula| {
            format!("  {name}: {{formula: '{formula}', unit: '1'}}\n")
        });
        let mut obligations = String::new();
        for (i, (_, claim)) in model.claims.iter().enumerate() {
            obligations += &format!("  - {{id: claim-{i}, type: {}, formal: '{claim}'}}\n", kind(claim));
        }
        let proofs = judge_all(&quantities, &equations, &obligations);
        for (proof, (wanted, claim)) in proofs.iter().zip(model.claims) {
            if proof.verdict != *wanted {
                let at = proof.counterexample.as_ref().map(ToString::to_string).unwrap_or_default();
                wrong.push(format!("{}: {claim}: {}\n{at}", model.name, proof.verdict));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
