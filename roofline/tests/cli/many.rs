//! Sets of devices, hosts, drafts and users in `roofline predict`, and `roofline plan`.

use serde_json::Value;

use crate::program::{err, json, printed, refused, run};

fn number(row: &Value, name: &str) -> f64 {
    row[name].as_f64().unwrap_or_else(|| panic!("{name}: {row}"))
}

/// The only row of a plan.
fn row(args: &[&str]) -> Value {
    let plan = json(args);
    let [row] = plan["rows"].as_array().expect("rows").as_slice() else { panic!("{plan}") };
    row.clone()
}

#[test]
fn a_70b_in_q4_k_m_fits_on_two_3090s_and_stages_bring_it_no_speed() {
    let args = ["predict", "llama-3.1-70b", "--quant", "q4_k_m", "--on", "2x rtx-3090"];
    let best = row(&args);
    assert_eq!((&best["devices"], &best["fits"]), (&"2x rtx_3090".into(), &true.into()));
    assert_eq!((&best["layout"]["tensor"], &best["layout"]["pipeline"]), (&2.into(), &1.into()));
    let staged = row(&[&args[..], &["--pipeline", "2"]].concat());
    assert_eq!((&staged["layout"]["tensor"], &staged["layout"]["pipeline"]), (&1.into(), &2.into()));
    // 42 GB are read at 936 GB/s, from both at once or from one after the other.
    let ratio = number(&best, "decode_ceiling") / number(&staged, "decode_ceiling");
    assert!((ratio - 2.0).abs() < 1e-6, "{ratio}");
    assert!((20.0..23.0).contains(&number(&staged, "decode_ceiling")), "{staged}");
    for row in [&best, &staged] {
        assert!(number(row, "decode_estimate") <= number(row, "decode_ceiling"));
        assert!(number(row, "device_gb") < 24.0);
    }
    // One of them is too small, and says by how much.
    let alone = row(&["predict", "llama-3.1-70b", "--quant", "q4_k_m", "--on", "1x rtx-3090"]);
    assert_eq!(alone["fits"], false);
    assert!(alone["short_of"].as_str().unwrap().ends_with("GB on a device"), "{alone}");
}

#[test]
fn experts_in_the_memory_of_the_host_are_multiplied_there() {
    let host = "bandwidth=89.6GB/s,memory=192GB,name=ddr5";
    let args = ["predict", "qwen3-235b-a22b", "--quant", "q4_k_m", "--on", "rtx-4090", "--host", host];
    let with = |offload: &str| row(&[&args[..], &["--offload", offload]].concat());
    let experts = with("experts");
    assert_eq!((&experts["held"]["experts_only"], &experts["fits"]), (&true.into(), &true.into()));
    assert_eq!((&experts["held"]["of"], &experts["held"]["computed"]), (&94.into(), &true.into()));
    assert!(number(&experts, "device_gb") <= 24.0 && number(&experts, "host_gb") <= 192.0);
    // 8 of 128 experts of some 220 billion parameters, less what is on the device, from 89.6 GB/s.
    let ceiling = number(&experts, "decode_ceiling");
    assert!((10.0..20.0).contains(&ceiling), "{experts}");
    let layers = with("8");
    assert!(number(&layers, "decode_ceiling") < ceiling, "{layers}");
    assert_eq!(with("auto")["held"], experts["held"]);
    // A host whose memory nobody knows is not said to have the room.
    let unknown = ["--offload", "experts", "--host", "bandwidth=89.6GB/s"];
    let unknown = [&args[..6], &unknown[..]].concat();
    assert_eq!(row(&unknown)["fits"], Value::Null);
    assert!(printed(&unknown).contains("the memory of the host is not known"));
    // A device that holds all leaves nothing to it.
    let small = ["predict", "llama-3.1-8b", "--quant", "q4_k_m", "--on", "rtx-4090", "--host", host];
    let all = printed(&[&small[..], &["--offload", "auto"]].concat());
    assert!(all.contains("all 32 layers on it, nothing on the host"), "{all}");
    // Too little memory on the host is said.
    let small = ["--offload", "experts", "--host", "bandwidth=89.6GB/s,memory=64GB"];
    let small = row(&[&args[..6], &small[..]].concat());
    assert!(small["short_of"].as_str().unwrap().ends_with("GB on the host"), "{small}");
}

#[test]
fn sixty_four_users_are_answered_by_eight_h100_within_fifty_milliseconds_a_token() {
    let args = [
        "predict",
        "llama-3.1-70b",
        "--quant",
        "fp8",
        "--cache",
        "fp8",
        "--on",
        "8x h100-sxm",
        "--users",
        "64",
        "--input",
        "2k",
        "--output",
        "256",
    ];
    let objective = |text: &'static str| [&args[..], &["--objective", text]].concat();
    let met = row(&objective("token_time <= 50 [ms/token]"));
    assert_eq!(met["enough"], true);
    let served = &met["served"];
    assert!(number(served, "token_least_time") <= number(served, "token_time"));
    assert!(number(served, "token_time") <= 50.0);
    assert!(number(served, "output_rate") <= number(served, "output_ceiling"));
    assert!(number(served, "largest_batch") >= 64.0);
    let text = printed(&objective("token_time <= 50 [ms/token]"));
    for part in
        ["64 users", "wanted: token_time <= 50", "Queues, schedulers and tails of latency are not in them."]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let missed = run(&objective("time_to_first_token <= 1 [ms]"));
    assert_eq!(missed.status.code(), Some(1));
    assert!(err(&missed).contains("no layout meets --objective"));
    // What prompts share is not read again.
    let shared = row(&[&args[..], &["--reuse", "50%"]].concat());
    assert!(
        number(&shared["served"], "time_to_first_token")
            < number(&row(&args)["served"], "time_to_first_token")
    );
    // Nor does the little that is left go through the weights faster than a token does.
    let little = row(&[&args[..], &["--reuse", "99%"]].concat());
    let alone = ["predict", "llama-3.1-70b", "--quant", "fp8", "--cache", "fp8", "--on", "8x h100-sxm"];
    let token = row(&[&alone[..], &["--context", "1", "--tensor", "8"]].concat());
    let pass = 1e3 / number(&token, "decode_ceiling");
    assert!(number(&little["served"], "first_token_least_time") >= 0.99 * pass, "{little}");
}

#[test]
fn the_curve_of_a_server_goes_from_one_user_to_as_many_as_fit() {
    let args = [
        "predict",
        "llama-3.1-70b",
        "--quant",
        "fp8",
        "--on",
        "8x h100-sxm",
        "--users",
        "48",
        "--input",
        "2k",
    ];
    let wanted = ["--objective", "token_time <= 30 [ms/token]"];
    let best = row(&[&args[..], &wanted[..]].concat());
    let curve = best["curve"].as_array().expect("a curve");
    let users: Vec<f64> = curve.iter().map(|way| number(&way["served"], "users")).collect();
    assert_eq!(users[..8], [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 48.0, 64.0]);
    assert!(users.is_sorted() && users.last() <= Some(&number(&best["served"], "largest_batch")));
    for way in curve {
        let served = &way["served"];
        assert!(number(served, "output_rate") <= number(served, "output_ceiling"), "{way}");
        assert!(number(served, "token_least_time") <= number(served, "token_time"), "{way}");
        let within = number(served, "token_time") <= 30.0;
        assert_eq!(way["enough"], within, "{way}");
    }
    let rates: Vec<f64> = curve.iter().map(|way| number(&way["served"], "output_ceiling")).collect();
    assert!(rates.is_sorted(), "more users never have a lower ceiling: {rates:?}");
    // The other layouts follow the best, and none of them is estimated to be faster.
    let others = best["others"].as_array().expect("other layouts");
    let met = |way: &&Value| way["enough"] == true;
    let rate = |way: &Value| number(&way["served"], "output_rate");
    assert!(others.len() > 3 && others.iter().filter(met).all(|way| rate(way) <= rate(&best)));
    let text = printed(&[&args[..], &wanted[..], &["--chart", "--ascii"]].concat());
    for part in ["throughput against latency", "A 8x h100_sxm: estimate", "@ with 48 users", "Other layouts"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let swept = row(&[&args[..], &["--sweep", "users=3,6"]].concat());
    assert_eq!(swept["curve"].as_array().unwrap().len(), 3);
    let picture = printed(&[&args[..], &["--svg", "-"]].concat());
    assert!(picture.starts_with("<svg") && picture.contains(">48 users<"), "{picture}");
    let page = printed(&[&args[..], &["--html", "-"]].concat());
    for part in ["const serving_v1 =", "const parallel_v1 =", "tokens of an answer", "\"users\":48.0"] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn a_draft_model_shortens_the_steps_of_a_server_and_takes_room() {
    let args = ["predict", "llama-3.1-70b", "--quant", "fp8", "--on", "8x h100-sxm", "--users", "16"];
    let draft = ["--draft", "llama-3.2-1b", "--accept", "0.75", "--drafts", "4"];
    let [plain, drafted] = [row(&args), row(&[&args[..], &draft[..]].concat())];
    let gain = number(&drafted["draft"], "speed_up");
    assert!(gain > 1.0 && gain <= number(&drafted["draft"], "most_speed_up"), "{drafted}");
    let [before, after] = [&plain["served"], &drafted["served"]];
    assert!(number(after, "token_time") < number(before, "token_time"));
    assert!(number(after, "largest_batch") < number(before, "largest_batch"));
    // Prompts are read by the large model alone.
    assert_eq!(after["first_token_least_time"], before["first_token_least_time"]);
    let says = printed(&[&args[..], &draft[..]].concat());
    assert!(says.contains("5 tokens of each sequence, all accepted") && says.contains("speed-up"), "{says}");
}

#[test]
fn a_faster_link_brings_what_messages_took() {
    let args = ["predict", "llama-3.1-70b", "--quant", "q4_k_m", "--on", "2xrtx-3090", "--batch", "32"];
    let [bus, bridge] = [row(&args), row(&[&args[..], &["--link", "56.2GB/s"]].concat())];
    assert_eq!((number(&bus, "link_gb_s"), number(&bridge, "link_gb_s")), (31.5, 56.2));
    assert!(number(&bridge, "decode_estimate") > number(&bus, "decode_estimate"));
    assert!(number(&bridge, "message_share") < number(&bus, "message_share"));
}

#[test]
fn different_devices_share_each_matrix_or_are_stages_of_one_model() {
    let args = ["predict", "llama-3.1-70b", "--quant", "q4_k_m", "--on", "2x rtx-3090,1x rtx-4090"];
    let [shared, staged] = [row(&args), row(&[&args[..], &["--tensor", "1"]].concat())];
    for mixed in [&shared, &staged] {
        assert_eq!((&mixed["devices"], &mixed["count"]), (&"2x rtx_3090, 1x rtx_4090".into(), &3.into()));
        assert_eq!(mixed["fits"], true);
    }
    assert_eq!((&shared["layout"]["tensor"], &shared["layout"]["pipeline"]), (&3.into(), &1.into()));
    assert_eq!((&staged["layout"]["tensor"], &staged["layout"]["pipeline"]), (&1.into(), &3.into()));
    assert!(number(&shared, "decode_ceiling") > 2.5 * number(&staged, "decode_ceiling"), "{shared}");
    let shares = staged["shares"].as_array().expect("what each stage has");
    let layers: f64 = shares.iter().map(|share| number(share, "layers")).sum();
    assert!((layers - 1.0).abs() < 1e-5, "{staged}");
    // 64 heads are not dealt out evenly over three, which is said.
    assert!(
        err(&run(&args)).contains("tensor 3 on 2x rtx_3090, 1x rtx_4090: 64 heads are not dealt out evenly")
    );
    assert!(!err(&run(&[&args[..], &["--tensor", "1"]].concat())).contains("evenly"));
    // A flag for each set makes a row for each.
    let two = ["predict", "llama-3.1-8b", "--on", "2x rtx-3090", "--on", "2x rtx-4090"];
    assert_eq!(json(&two)["rows"].as_array().unwrap().len(), 2);
    assert!(printed(&two).contains("2x rtx_4090"));
}

#[test]
fn a_draft_model_speeds_up_what_it_is_accepted_for() {
    let with = |accept: &str| {
        let args = ["predict", "llama-3.1-70b", "--quant", "q4_k_m", "--on", "2x rtx-3090"];
        row(&[&args[..], &["--draft", "llama-3.2-1b", "--accept", accept, "--drafts", "4"]].concat())
    };
    let [often, never] = ["0.75", "0"].map(with);
    let (gain, loss) = (&often["draft"], &never["draft"]);
    assert!((number(gain, "tokens_per_pass") - 3.050_781_25).abs() < 1e-9, "{gain}");
    assert!(number(gain, "speed_up") > 1.0 && number(loss, "speed_up") < 1.0);
    assert!(number(gain, "speed_up") <= number(gain, "most_speed_up"));
    let even = number(gain, "break_even");
    assert!(even > 0.0 && even < 0.75);
    let at = with(&even.to_string());
    assert!((number(&at["draft"], "speed_up") - 1.0).abs() < 1e-3, "{at}");
}

#[test]
fn a_plan_lists_the_cheapest_sets_first_and_what_the_others_lack() {
    let args = ["plan", "llama-3.1-70b", "--quant", "q4_k_m", "--at-least", "30 token/s"];
    let on = ["--on", "rtx-5090,rtx-5070-ti,rtx-5060-ti-16gb,raspberry-pi-5"];
    let plan = json(&[&args[..], &on[..]].concat());
    let rows = plan["rows"].as_array().unwrap();
    let enough: Vec<&Value> = rows.iter().filter(|row| row["enough"] == true).collect();
    let prices: Vec<f64> = enough.iter().map(|row| number(row, "price_usd")).collect();
    assert!(prices.len() >= 2 && prices.is_sorted(), "{prices:?}");
    for row in &enough {
        assert!(number(row, "decode_estimate") >= 30.0 && row["fits"] == true, "{row}");
    }
    // As few of a kind as do it, in powers of two.
    let few = enough.iter().find(|row| row["devices"] == "2x rtx_5090");
    assert!(few.is_some(), "{plan}");
    let pi = rows
        .iter()
        .find(|row| row["devices"] == "1x raspberry_pi_5")
        .expect("tried alone: nobody publishes its links");
    assert_eq!(pi["enough"], false);
    assert!(!pi["short_of"].as_str().unwrap().is_empty());
    let text = printed(&[&args[..], &on[..]].concat());
    assert!(text.contains("These do") && text.contains("These do not"), "{text}");
    // Columns of other formats have names of their own, and the reason stands before the speeds.
    let csv = printed(&[&args[..], &on[..], &["--format", "csv"]].concat());
    let headings: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    let mut names = headings.clone();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), headings.len(), "{headings:?}");
    assert_eq!(headings[..5], ["devices", "layout", "fits", "short_of", "usd"]);
    let none = run(&["plan", "llama-3.1-70b", "--at-least", "1e6 token/s", "--on", "raspberry-pi-5"]);
    assert_eq!(none.status.code(), Some(1));
    // What a set is short of is what it lacks where the model is dealt out over all of it.
    let short = row(&["plan", "llama-3.1-405b", "--users", "8", "--on", "8x rtx-5090"]);
    assert_eq!((&short["layout"]["copies"], &short["fits"]), (&1.into(), &false.into()), "{short}");
    // All devices, narrowed by what the registry knows.
    let narrowed = ["--where", "vendor == \"amd\" and kind == \"gpu\" and launch_year >= 2024"];
    let plan = json(&[&args[..], &narrowed[..]].concat());
    let rows = plan["rows"].as_array().unwrap();
    let amd = |row: &Value| {
        let name = row["devices"].as_str().unwrap();
        ["x rx_", "x radeon_", "x mi"].iter().any(|part| name.contains(part))
    };
    assert!(rows.len() > 5 && rows.iter().all(amd), "{plan}");
}

#[test]
fn what_does_not_go_together_is_refused_with_a_reason() {
    let base = ["predict", "llama-3.1-8b"];
    for (more, says) in [
        (&["--on", "8x h100-sxm", "--tensor", "3"][..], "no layout of 8 devices"),
        (&["--on", "0x h100-sxm"], "a set has 1 to 4096 devices"),
        (&["--on", "99999999999999999999x h100-sxm"], "a set has 1 to 4096 devices"),
        (&["--on", "2x h1000"], "no such device"),
        (&["--on", "2x h100-sxm,"], "a comma without a device"),
        (&["--on", "2x h100-sxm", "--experts", "2"], "there are no experts to deal out"),
        (&["--on", "2x rtx-3090", "--sweep", "batch=1,2"], "is for single devices"),
        (&["--on", "2x rtx-3090", "--users", "4", "--sweep", "batch=1,2"], "whole numbers of users"),
        (&["--on", "2x rtx-3090", "--users", "4", "--sweep", "users=1.5"], "whole numbers of users"),
        (&["--on", "2x rtx-3090", "--svg", "-"], "say how many with --users"),
        (&["--on", "2x rtx-3090", "--link", "0"], "`0` is not above zero"),
        (&["--on", "2x rtx-3090", "--link", "fast"], "fast"),
        (&["--on", "rtx-4090", "--offload", "auto"], "say what the host is with --host"),
        (&["--on", "rtx-4090", "--offload", "half"], "write auto, experts, or how many layers"),
        (&["--on", "rtx-4090", "--offload", "experts", "--host", "bandwidth=80"], "has no experts"),
        (&["--on", "rtx-4090", "--offload", "99", "--host", "bandwidth=80"], "the model has 32 layers"),
        (&["--on", "rtx-4090", "--offload", "8", "--host", "bandwidth=2000"], "is faster than that of"),
        (&["--on", "2x rtx-4090", "--offload", "8", "--host", "bandwidth=80"], "one device beside its host"),
        (&["--on", "rtx-4090", "--draft", "llama-3.2-1b"], "--accept, such as 0.75"),
        (
            &["--on", "rtx-4090", "--draft", "llama-3.2-1b", "--accept", "1.2"],
            "--accept 1.2: a share is 0 to 1",
        ),
        (
            &["--on", "rtx-4090", "--draft", "llama-3.2-1b", "--accept", "-1"],
            "--accept -1: a share is 0 to 1",
        ),
        (&["--on", "rtx-4090", "--draft", "llama-3.3-1b", "--accept", "0.5"], "no such model"),
        (&["--on", "rtx-4090", "--draft", "4", "--accept", "0.5"], "--accept is for a draft model"),
        (&["--on", "8x h100-sxm", "--users", "4", "--batch", "2"], "take the place of --batch"),
        (&["--on", "8x h100-sxm", "--users", "0"], "0 is not in 1..=65536"),
        (&["--on", "8x h100-sxm", "--users", "70000"], "70000 is not in 1..=65536"),
        (&["--on", "8x h100-sxm", "--users", "4", "--input", "0"], "--input 0: at least one token"),
        (&["--on", "8x h100-sxm", "--users", "4", "--output", "0"], "--output 0: at least one token"),
        (&["--on", "8x h100-sxm", "--users", "4", "--reuse", "100%"], "--reuse 1: a share is 0 to 0.999"),
        (
            &["--on", "8x h100-sxm", "--objective", "token_time <= 50"],
            "say how many users it has with --users",
        ),
        (&["--on", "8x h100-sxm", "--input", "2k"], "--users"),
        (&["--on", "8x h100-sxm", "--objective", "speed > 1"], "--objective: "),
        (&["--on", "8x h100-sxm", "--objective", "token_time <= 50 ms"], "a unit is written in brackets"),
        (
            &["--on", "8x h100-sxm", "--objective", "token_time <= 50 [ms]"],
            "a number without one has that of",
        ),
        (&["--on", "8x h100-sxm", "--message-cost", "nan"], "it is 0 to 1e6 microseconds"),
    ] {
        refused(&[&base[..], more].concat(), says);
    }
    refused(&["choose", "llama-3.1-8b", "--on", "2x rtx-3090"], "belong to `predict` and `plan`");
    refused(&["plan", "llama-3.1-8b", "--on", "rtx-3090", "--sweep", "batch=1"], "`plan` has --at-least");
    assert!(printed(&["plan", "llama-3.1-8b", "--objective", "help"]).contains("token_time"));
}
