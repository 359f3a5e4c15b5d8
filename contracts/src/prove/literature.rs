//! Claims that the literature makes of its formulas, written as there: those that hold for every f64 are proven, those that a
//! rounding breaks are refuted, and hold within a tolerance.

use super::claims::judge_all;
use crate::contract::Verdict::{self, Refuted, Shown};

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
            (Shown, "speedup > 0"),
            (Shown, "finite(speedup)"),
            (Shown, "speedup >= 1 within 1e-12"),
            (Shown, "speedup <= n within 1e-12"),
            (Shown, "speedup increasing in n"),
            (Shown, "speedup decreasing in s within 1e-12"),
            (Shown, "efficiency <= 1 within 1e-12"),
            (Shown, "s > 0 implies speedup * s <= 1 within 1e-12"),
            (Refuted, "speedup <= n"),
        ],
    },
    Model {
        name: "Gustafson",
        quantities: "s: '[0, 1]'; n: 'integer [1, 65536]'",
        equations: "scaled: n - s * (n - 1); other: s + (1 - s) * n",
        claims: &[
            (Shown, "scaled >= 1"),
            (Shown, "scaled <= n"),
            (Shown, "scaled decreasing in s"),
            (Refuted, "scaled == other within 1e-12"),
            (Shown, "other >= 1 within 1e-12"),
            (Shown, "other <= n within 1e-12"),
        ],
    },
    Model {
        name: "M/M/1",
        quantities: "arrival: '[0, 1e6]'; service: '[1e-3, 1e6]'",
        equations: "load: arrival / service; wait: if arrival < service then 1 / (service - arrival) else 0",
        claims: &[
            (Shown, "load >= 0"),
            (Shown, "arrival < service implies load <= 1"),
            (Shown, "wait >= 0"),
            (Shown, "arrival < service implies wait > 0"),
            (Shown, "arrival < service implies wait >= 1 / service"),
            (Shown, "load < 1 implies 1 / (1 - load) >= 1"),
        ],
    },
    Model {
        name: "ring all-reduce",
        quantities: "p: 'integer [2, 65536]'; bytes: '[1, 1e15]'; bandwidth: '[1, 1e13]'; latency: '[0, 1]'",
        equations: "sent: 2 * (p - 1) / p * bytes; time: 2 * (p - 1) * latency + sent / bandwidth; \
                    bus: bytes / time * (2 * (p - 1) / p); factor: 2 * (p - 1) / p",
        claims: &[
            (Shown, "sent > 0"),
            (Shown, "factor < 2"),
            (Shown, "factor >= 1"),
            (Shown, "factor increasing in p"),
            (Shown, "sent <= 2 * bytes"),
            (Shown, "sent >= bytes"),
            (Shown, "time increasing in bytes"),
            (Shown, "time decreasing in bandwidth"),
            (Shown, "time increasing in latency"),
            (Shown, "time increasing in p"),
            (Shown, "time > 0"),
            (Shown, "bus <= bandwidth within 1e-12"),
            (Shown, "time >= bytes / bandwidth within 1e-12"),
        ],
    },
    Model {
        name: "pipeline",
        quantities: "p: 'integer [1, 4096]'; m: 'integer [1, 65536]'; t: '[1e-9, 1e3]'",
        equations: "bubble: (p - 1) / (m + p - 1); ideal: m * t; total: (m + p - 1) * t; busy: m / (m + p - 1)",
        claims: &[
            (Shown, "bubble >= 0"),
            (Shown, "bubble < 1"),
            (Shown, "bubble increasing in p"),
            (Shown, "bubble decreasing in m"),
            (Shown, "total >= ideal"),
            (Shown, "bubble + busy == 1 within 1e-12"),
            (Shown, "busy > 0"),
            (Shown, "busy <= 1"),
            (Shown, "busy decreasing in p"),
            (Shown, "busy increasing in m"),
            (Shown, "ideal / total == busy within 1e-12"),
            (Shown, "p == 1 implies bubble == 0"),
        ],
    },
    Model {
        name: "speculation",
        quantities: "a: '[0, 0.99]'; g: 'integer [1, 32]'; c: '[0, 1]'",
        equations: "tokens: (1 - pow(a, g + 1)) / (1 - a); cost: g * c + 1; gain: tokens / cost",
        claims: &[
            (Shown, "tokens > 0"),
            (Shown, "cost >= 1"),
            (Shown, "gain > 0"),
            (Shown, "tokens increasing in g"),
            (Shown, "gain decreasing in c"),
            (Shown, "gain <= tokens"),
            (Shown, "tokens >= 1"),
            (Shown, "cost increasing in g"),
        ],
    },
    Model {
        name: "GQA",
        quantities: "layers: 'integer [1, 200]'; heads: 'integer [1, 256]'; group: 'integer [1, 256]'; width: 'integer [1, 512]'; \
                     tokens: 'integer [1, 1e6]'; bytes: '[0.5, 4]'",
        equations: "cache: 2 * layers * heads * width * tokens * bytes; shared: 2 * layers * ceil(heads / group) * width * tokens * bytes; \
                    ratio: cache / shared",
        claims: &[
            (Shown, "cache > 0"),
            (Shown, "shared <= cache"),
            (Shown, "ratio >= 1"),
            (Shown, "cache increasing in tokens"),
            (Shown, "cache(tokens: 2 * tokens) == 2 * cache"),
            (Shown, "shared decreasing in group"),
        ],
    },
    Model {
        name: "Williams",
        quantities: "peak: '[1e-3, 1e9]'; bandwidth: '[1e-3, 1e6]'; intensity: '[1e-6, 1e9]'; share: '(0, 1]'",
        equations: "ridge: peak / bandwidth; attainable: min(peak, intensity * bandwidth); ceiling: min(peak * share, intensity * bandwidth); \
                    time: max(1 / peak, 1 / (intensity * bandwidth))",
        claims: &[
            (Shown, "attainable <= peak"),
            (Shown, "ceiling <= attainable"),
            (Shown, "attainable increasing in intensity"),
            (Shown, "intensity >= ridge implies attainable >= peak within 1e-12"),
            (Shown, "intensity <= ridge implies attainable <= intensity * bandwidth"),
            (Shown, "ridge * bandwidth == peak within 1e-12"),
            (Shown, "time * attainable <= 1 within 1e-12"),
            (Shown, "time * attainable >= 1 within 1e-12"),
            (Refuted, "intensity >= ridge implies attainable >= peak"),
        ],
    },
    Model {
        name: "energy roofline",
        quantities: "flops: '[1, 1e18]'; bytes: '[1, 1e15]'; eflop: '[1e-13, 1e-9]'; ebyte: '[1e-12, 1e-8]'; pconst: '[0, 1e3]'; time: '[1e-9, 1e6]'",
        equations: "energy: flops * eflop + bytes * ebyte + pconst * time; intensity: flops / bytes; balance: ebyte / eflop; \
                    efficiency: flops / energy; arch: intensity / (intensity + balance)",
        claims: &[
            (Shown, "energy > 0"),
            (Shown, "energy >= flops * eflop"),
            (Shown, "efficiency <= 1 / eflop within 1e-12"),
            (Shown, "arch >= 0"),
            (Shown, "arch <= 1"),
            (Shown, "energy increasing in bytes"),
            (Shown, "arch increasing in flops within 1e-12"),
            (Shown, "efficiency increasing in flops within 1e-12"),
        ],
    },
    Model {
        name: "Little",
        quantities: "latency: '[1e-9, 1]'; rate: '[1, 1e12]'; size: '[1, 1e6]'",
        equations: "inflight: latency * rate; reached: inflight / latency; lines: ceil(inflight / size)",
        claims: &[
            (Shown, "inflight > 0"),
            (Shown, "reached == rate within 1e-12"),
            (Shown, "inflight increasing in latency"),
            (Shown, "lines >= 1"),
            (Refuted, "reached == rate"),
        ],
    },
    Model {
        name: "mixture of experts",
        quantities: "experts: 'integer [1, 1024]'; active: 'integer [1, 1024]'; each: '[1, 1e10]'; base: '[1, 1e11]'; tokens: 'integer [1, 1e5]'",
        equations: "total: base + experts * each; used: base + active * each; share: used / total; touched: min(experts, tokens * active)",
        claims: &[
            (Shown, "active <= experts implies used <= total"),
            (Shown, "active <= experts implies share <= 1"),
            (Shown, "share > 0"),
            (Shown, "touched <= experts"),
            (Shown, "active <= experts implies touched >= active"),
            (Shown, "share decreasing in experts"),
            (Shown, "share increasing in active"),
        ],
    },
    Model {
        name: "convex combination",
        quantities: "s: '[0, 1]'; a: '[1, 100]'; b: '[1, 1000]'; c: '[1, 10]'; x: '[1e-9, 1e6]'",
        equations: "mix: s * a + (1 - s) * b; part: x / (x + c); harmonic: 1 / (s / a + (1 - s) / b)",
        claims: &[
            (Shown, "a <= b implies mix <= b within 1e-12"),
            (Shown, "a <= b implies mix >= a within 1e-12"),
            (Shown, "mix >= min(a, b) within 1e-12"),
            (Shown, "mix <= max(a, b) within 1e-12"),
            (Shown, "part >= 0"),
            (Shown, "part <= 1"),
            (Shown, "part increasing in x within 1e-12"),
            (Shown, "part decreasing in c"),
            (Shown, "harmonic <= max(a, b) within 1e-12"),
            (Shown, "harmonic >= min(a, b) within 1e-12"),
            (Shown, "a <= b implies harmonic <= mix within 1e-12"),
        ],
    },
];

fn kind(claim: &str) -> &'static str {
    let direction = [" increasing in ", " decreasing in "].iter().any(|word| claim.contains(word));
    if direction && !claim.contains(" implies ") { "monotonicity" } else { "invariant" }
}

#[test]
fn claims_of_the_literature_have_the_verdict_that_floating_point_gives_them() {
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
