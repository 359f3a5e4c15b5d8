//! Speeds that others published for servers, for sets of devices and for devices with a host beside them, as commands: none is
//! above the ceiling of the layout that has the highest.

use serde_json::Value;

use crate::program::json;

/// What was measured.
#[derive(Clone, Copy)]
enum Phase {
    /// Tokens of all sequences of a batch.
    Decode,
    /// Tokens of prompts.
    Prefill,
    /// Tokens of answers at full load.
    Serving,
}
use Phase::{Decode, Prefill, Serving};

/// Tokens per second of all devices, and how to ask for their ceiling.
type Row = (f64, Phase, &'static str);

/// By where they were published. Servers that say nothing of their users have as many as find room while their answers are half
/// written in GiB where vendors say GB, and a twentieth more.
const PUBLISHED: &[(&str, &[Row])] = &[
    (
        "https://github.com/NVIDIA/TensorRT-LLM/blob/258c7540/docs/source/performance/perf-overview.md",
        &[
            (
                8_290.35,
                Serving,
                "llama-3.1-70b --quant fp8 --cache fp8 --on 2xh200-sxm --input 128 --output 2048 --users 1264",
            ),
            (
                1_313.96,
                Serving,
                "llama-3.1-70b --quant f16 --cache fp8 --on 2xa100-sxm-80gb --input 128 --output 128 --users 678",
            ),
            (
                14_156.0,
                Serving,
                "llama-3.1-70b --quant fp8 --cache fp8 --on 4xh200-sxm --input 128 --output 2048 --users 2948",
            ),
            (
                1_942.66,
                Serving,
                "llama-3.1-70b --quant fp8 --cache fp8 --on 4xl40s --input 128 --output 2048 --users 728",
            ),
            (
                325.15,
                Serving,
                "llama-3.1-70b --quant f16 --cache fp8 --on 4xa100-sxm-80gb --input 2048 --output 128 --users 584",
            ),
            (
                392.62,
                Serving,
                "llama-3.1-70b --quant f16 --cache fp8 --on 4xa100-sxm-80gb --input 5000 --output 500 --users 236",
            ),
            (
                21_195.88,
                Serving,
                "llama-3.1-70b --quant fp8 --cache fp8 --on 8xh200-sxm --input 128 --output 2048 --users 6320",
            ),
            (
                1_920.45,
                Serving,
                "llama-3.1-70b --quant fp8 --cache fp8 --on 8xh200-sxm --input 20000 --output 2000 --users 352",
            ),
            (
                2_303.31,
                Serving,
                "llama-3.1-70b --quant fp8 --cache fp8 --on 8xl40s --input 128 --output 2048 --users 1872",
            ),
            (
                4_717.62,
                Serving,
                "llama-3.1-70b --quant f16 --cache fp8 --on 8xa100-sxm-80gb --input 128 --output 128 --users 17880",
            ),
            (
                14_679.33,
                Serving,
                "llama-3.1-70b --quant fp8 --cache fp8 --on 8xh100-sxm --input 500 --output 2000 --users 2600",
            ),
            (
                5_938.09,
                Serving,
                "llama-3.1-405b --quant fp8 --cache fp8 --on 8xh200-sxm --input 128 --output 2048 --users 2744",
            ),
            (
                463.42,
                Serving,
                "llama-3.1-405b --quant fp8 --cache fp8 --on 8xh200-sxm --input 2048 --output 128 --users 1496",
            ),
            (
                29_584.05,
                Serving,
                "mixtral-8x7b --quant fp8 --cache fp8 --on 2xh200-sxm --input 128 --output 2048 --users 3512",
            ),
            (
                27_451.13,
                Serving,
                "mixtral-8x7b --quant fp8 --cache fp8 --on 2xh100-sxm --input 128 --output 128 --users 10152",
            ),
            (
                5_541.47,
                Serving,
                "mixtral-8x7b --quant f16 --cache fp8 --on 2xa100-sxm-80gb --input 128 --output 128 --users 5968",
            ),
        ],
    ),
    (
        "https://github.com/NVIDIA/TensorRT-LLM/blob/03e27c7d/docs/source/developer-guide/perf-overview.md",
        &[
            (
                25_852.0,
                Serving,
                "deepseek-v3 --quant nvfp4 --cache fp8 --on 4xb200-hgx --input 1000 --output 1000 --users 7328",
            ),
            (
                5_804.0,
                Serving,
                "deepseek-v3 --quant nvfp4 --cache fp8 --on 4xb200-hgx --input 1024 --output 32768 --users 632",
            ),
            (
                17_516.0,
                Serving,
                "deepseek-v3 --quant nvfp4 --cache fp8 --on 4xgb200 --input 1024 --output 8192 --users 2296",
            ),
            (
                13_016.0,
                Serving,
                "deepseek-v3 --quant fp8 --cache fp8 --on 8xh200-sxm --input 1000 --output 1000 --users 9776",
            ),
            (
                4_018.0,
                Serving,
                "llama-3.1-70b --quant fp8 --cache fp8 --on 2xh200-sxm --input 1024 --output 8192 --users 286",
            ),
            (
                3_802.0,
                Serving,
                "llama-3.1-70b --quant nvfp4 --cache fp8 --on 2xrtx-pro-6000-blackwell-server --input 1000 --output 1000 --users 698",
            ),
            (
                5_020.0,
                Serving,
                "qwen3-235b-a22b --quant nvfp4 --cache fp8 --on 4xb200-hgx --input 1024 --output 32768 --users 396",
            ),
            (
                5_856.0,
                Serving,
                "qwen3-235b-a22b --quant nvfp4 --cache fp8 --on 4xgb200 --input 8192 --output 1024 --users 824",
            ),
            (
                13_152.0,
                Serving,
                "qwen3-235b-a22b --quant fp8 --cache fp8 --on 4xh200-sxm --input 1000 --output 1000 --users 2568",
            ),
            (
                6_984.0,
                Serving,
                "qwen3-235b-a22b --quant fp8 --cache fp8 --on 8xh100-sxm --input 1024 --output 8192 --users 928",
            ),
            (
                6_924.0,
                Serving,
                "qwen3-235b-a22b --quant nvfp4 --cache fp8 --on 4xrtx-pro-6000-blackwell-server --input 1000 --output 1000 --users 1968",
            ),
            (
                5_688.0,
                Serving,
                "qwen3-235b-a22b --quant nvfp4 --cache fp8 --on 8xrtx-pro-6000-blackwell-server --input 1024 --output 8192 --users 1456",
            ),
            (
                7_154.0,
                Serving,
                "qwen3-30b-a3b --quant nvfp4 --cache fp8 --on 2xrtx-pro-6000-blackwell-server --input 1024 --output 8192 --users 782",
            ),
            (
                19_248.0,
                Serving,
                "qwen3-30b-a3b --quant nvfp4 --cache fp8 --on 8xrtx-pro-6000-blackwell-server --input 1024 --output 8192 --users 3368",
            ),
        ],
    ),
    (
        "https://lmsys.org/blog/2025-05-05-large-scale-ep",
        &[
            (200_700.0, Decode, "deepseek-v3 --quant fp8 --on 72xh100-sxm --batch 18432 --context 2050"),
            (128_827.6, Prefill, "deepseek-v3 --quant fp8 --on 32xh100-sxm --batch 256 --prompt 2000"),
        ],
    ),
    (
        "https://lmsys.org/blog/2025-09-25-gb200-part-2",
        &[
            (
                642_528.0,
                Decode,
                "deepseek-v3 --quant nvfp4 --cache fp8 --on 48xgb200 --batch 61440 --context 2050",
            ),
            (436_176.0, Decode, "deepseek-v3 --quant fp8 --on 48xgb200 --batch 61440 --context 2050"),
            (
                104_624.0,
                Prefill,
                "deepseek-v3 --quant nvfp4 --cache fp8 --on 4xgb200 --batch 64 --prompt 2000",
            ),
            (73_884.0, Prefill, "deepseek-v3 --quant fp8 --on 4xgb200 --batch 64 --prompt 2000"),
        ],
    ),
    (
        "https://github.com/deepseek-ai/open-infra-index, day 6: H800, here as H100, whose links are faster; prompts with what was in the cache",
        &[
            (266_400.0, Decode, "deepseek-v3 --quant fp8 --on 144xh100-sxm --batch 18432 --context 4989"),
            (128_827.6, Prefill, "deepseek-v3 --quant fp8 --on 32xh100-sxm --batch 256 --prompt 2000"),
        ],
    ),
    (
        "https://github.com/sgl-project/sglang/pull/2643",
        &[
            (30.29, Decode, "deepseek-v3 --quant fp8 --on 8xh200-sxm --batch 1 --context 256"),
            (206.32, Decode, "deepseek-v3 --quant fp8 --on 8xh200-sxm --batch 8 --context 256"),
            (760.52, Decode, "deepseek-v3 --quant fp8 --on 8xh200-sxm --batch 32 --context 256"),
        ],
    ),
    (
        "https://nvidia.github.io/TensorRT-LLM/blogs/tech_blog (DeepSeek-R1 on 8 B200)",
        &[(368.0, Decode, "deepseek-v3 --quant nvfp4 --on 8xb200-hgx --context 2048 --draft 4")],
    ),
    (
        "https://techcommunity.microsoft.com (ND GB200 v6; MLPerf 4.1 Llama 2 70B, 294 tokens in and out)",
        &[(
            865_000.0,
            Serving,
            "llama-2-70b --quant nvfp4 --cache fp8 --on 72xgb200 --input 294 --output 294 --users 64800",
        )],
    ),
    (
        "https://mlcommons.org (MLPerf Inference 5.0, MangoBoost)",
        &[(
            103_182.0,
            Serving,
            "llama-2-70b --quant fp8 --cache fp8 --on 32xmi300x --input 294 --output 294 --users 65536",
        )],
    ),
    (
        "https://github.com/kvcache-ai/ktransformers/blob/main/doc/en/DeepseekR1_V3_tutorial.md",
        &[
            (
                12.208,
                Decode,
                "deepseek-v3 --quant q4_k_m --on rtx-4090-d --host bandwidth=614.4GB/s,memory=1024GB --offload experts --context 750",
            ),
            (
                8.73,
                Decode,
                "deepseek-v3 --quant q4_k_m --on rtx-4090-d --host bandwidth=307.2GB/s,memory=512GB --offload experts --context 750",
            ),
            (
                255.26,
                Prefill,
                "deepseek-v3 --quant q8_0 --on rtx-4090-d --host bandwidth=614.4GB/s,memory=1024GB --offload experts --prompt 2048",
            ),
        ],
    ),
    (
        "https://github.com/kvcache-ai/ktransformers/issues/1914",
        &[
            (
                52.5,
                Decode,
                "qwen3-30b-a3b --quant bf16 --on rtx-5090 --host bandwidth=614.4GB/s,memory=1511GB --offload experts --context 1000",
            ),
            (
                3_079.9,
                Prefill,
                "qwen3-30b-a3b --quant bf16 --on rtx-5090 --host bandwidth=614.4GB/s,memory=1511GB --offload experts --prompt 3846",
            ),
        ],
    ),
    (
        "https://github.com/AlexsJones/llmfit/pull/755",
        &[(
            36.7,
            Decode,
            "qwen3-30b-a3b --quant q4_k_m --on rtx-2080 --host bandwidth=102.4GB/s,memory=62GB --offload experts --context 512",
        )],
    ),
    (
        "https://github.com/AlexsJones/llmfit/pull/778",
        &[(
            20.8,
            Decode,
            "qwen2.5-14b --quant q4_k_m --on rtx-2080 --host bandwidth=102.4GB/s,memory=62GB --offload 42 --context 512",
        )],
    ),
];

#[test]
fn no_published_speed_is_above_the_highest_ceiling_of_any_layout() {
    let mut above = Vec::new();
    for (source, rows) in PUBLISHED {
        for (speed, phase, args) in *rows {
            let args: Vec<&str> = std::iter::once("predict").chain(args.split(' ')).collect();
            let plan = json(&args);
            let row = &plan["rows"][0];
            let others = row["others"].as_array().into_iter().flatten();
            let of = |way: &Value| match phase {
                Decode => way["decode_ceiling"].as_f64(),
                Prefill => way["prefill_ceiling"].as_f64(),
                Serving => way["served"]["output_ceiling"].as_f64(),
            };
            let ceiling = others.chain([row]).filter_map(of).fold(0.0, f64::max);
            if *speed > ceiling {
                above.push(format!("{source}: {speed} of {ceiling}: {}", args.join(" ")));
            }
        }
    }
    assert!(above.is_empty(), "{}", above.join("\n"));
    assert!(PUBLISHED.iter().map(|(_, rows)| rows.len()).sum::<usize>() >= 50);
}
