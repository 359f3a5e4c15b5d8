//! ONNX graphs made by hand: shapes from node to node, what each node costs, files that are cut short or lie.

use roofline::contracts::hardware::devices::H100_SXM;
use roofline::model::onnx::{Given, Task};
use roofline::model::readers::onnx as read;
use roofline::model::{Dtype, Format, Model, Role};
use roofline::predict::Target;
use roofline::profile::{Costs, graph as profiles};

use crate::checks;
use roofline_test_support::graph::Says::{List, Number, Word};
use roofline_test_support::graph::{FLOAT, Graph, INT8, Message, Says, UINT8};
use roofline_test_support::scratch::files;

fn open(test: &str, graph: &Graph) -> Model {
    Model::open(files(&format!("onnx-{test}"), &[("m.onnx", &graph.build())]).join("m.onnx")).unwrap()
}

fn given(text: &[(&str, &[u64])]) -> Vec<Given> {
    let one = |(name, dims): &(&str, &[u64])| Given { name: Some((*name).to_owned()), dims: dims.to_vec() };
    text.iter().map(one).collect()
}

fn profiled(model: &Model, inputs: &[Given], batch: u64) -> Costs {
    let inferred = model.graph.as_ref().unwrap().infer(inputs, batch).unwrap();
    profiles::profile(model, &inferred, &Target::of(&H100_SXM, None).unwrap()).unwrap()
}

/// Name, operations and bytes of every node that is defined, and why the others are not.
fn lines(costs: &Costs) -> Vec<String> {
    let line = |entry: &roofline::profile::Entry| match (&entry.pass, &entry.undefined) {
        (Some(cost), _) => format!("{} {} {}", entry.name, cost.flops, cost.estimate_bytes),
        (None, reason) => format!("{} {}", entry.name, reason.as_deref().unwrap_or_default()),
    };
    costs.entries.iter().map(line).collect()
}

/// The front of a network for images, and its end.
fn network(batch: &str) -> Graph {
    Graph::default()
        .input("image", &[batch, "3", "224", "224"])
        .weight("w", &[64, 3, 7, 7], FLOAT)
        .weight("scale", &[64], FLOAT)
        .weight("fc", &[1000, 64], FLOAT)
        .weight("bias", &[1000], FLOAT)
        .node("Conv", &["image", "w"], &["a"], &[("strides", List(&[2, 2])), ("pads", List(&[3, 3, 3, 3]))])
        .node("BatchNormalization", &["a", "scale", "scale", "scale", "scale"], &["b"], &[])
        .node("Relu", &["b"], &["c"], &[])
        .node(
            "MaxPool",
            &["c"],
            &["d"],
            &[("kernel_shape", List(&[3, 3])), ("strides", List(&[2, 2])), ("pads", List(&[1, 1, 1, 1]))],
        )
        .node("GlobalAveragePool", &["d"], &["e"], &[])
        .node("Flatten", &["e"], &["f"], &[])
        .node("Gemm", &["f", "fc", "bias"], &["g"], &[("transB", Number(1))])
        .node("Softmax", &["g"], &["h"], &[])
}

#[test]
fn the_nodes_of_a_network_for_images_worked_out_by_hand() {
    let model = open("network", &network("1"));
    assert_eq!((model.format, model.parameters()), (Format::Onnx, 64 * 147 + 64 + 64_000 + 1000));
    assert_eq!(model.summary, [("producer".to_owned(), "by hand".to_owned())]);
    let costs = profiled(&model, &[], 1);
    let (picture, wide, small) = (3 * 224 * 224, 64 * 112 * 112, 64 * 56 * 56);
    let expected = [
        // Each of 112 x 112 positions of 64 channels meets 3 x 7 x 7 taps.
        format!("Conv_0 {} {}", 2 * wide * 147, 4 * (picture + wide + 64 * 147)),
        format!("BatchNormalization_1 {} {}", 2 * wide, 4 * (2 * wide + 4 * 64)),
        format!("Relu_2 {wide} {}", 4 * 2 * wide),
        format!("MaxPool_3 {} {}", small * 9, 4 * (wide + small)),
        format!("GlobalAveragePool_4 {small} {}", 4 * (small + 64)),
        format!("Gemm_6 {} {}", 2 * 64 * 1000, 4 * (64_000 + 64 + 1000)),
        format!("Softmax_7 {} {}", 5 * 1000, 4 * 2000),
    ];
    assert_eq!(lines(&costs), expected);
    let roles: Vec<Role> = costs.entries.iter().map(|entry| entry.role).collect();
    assert_eq!(roles[..3], [Role::Convolution, Role::Norm, Role::Other]);
    assert_eq!(costs.entries[0].dtype.as_deref(), Some("F32"));
    assert_eq!(costs.entries[0].parameters, 9408.0);
    let pass = costs.pass.unwrap();
    assert_eq!(pass.flops, costs.entries.iter().map(|entry| entry.pass.unwrap().flops).sum::<f64>());
    assert!((pass.ceiling_per_s * pass.least_s - 1.0).abs() < 1e-12);
}

#[test]
fn an_open_batch_is_the_one_that_is_asked_for() {
    let model = open("batch", &network("N"));
    let (one, eight) = (profiled(&model, &[], 1), profiled(&model, &[], 8));
    let (one, eight) = (one.pass.unwrap(), eight.pass.unwrap());
    assert_eq!((eight.flops, eight.weight_bytes), (8.0 * one.flops, one.weight_bytes));
    let graph = model.graph.as_ref().unwrap();
    assert_eq!(graph.infer(&given(&[("image", &[3, 3, 224, 224])]), 1).unwrap().batch, 3);
}

#[test]
fn convolutions_of_every_kind_have_their_formula() {
    let conv = |op: &str, x: &[&str], w: &[i64], says: &[(&str, Says)]| {
        let model = open(
            "conv",
            &(Graph::default().input("x", x).weight("w", w, FLOAT).node(op, &["x", "w"], &["y"], says)),
        );
        let inferred = model.graph.as_ref().unwrap().infer(&[], 1).unwrap();
        let costs = profiles::profile(&model, &inferred, &Target::of(&H100_SXM, None).unwrap()).unwrap();
        costs.entries[0].pass.unwrap_or_else(|| panic!("{:?}", costs.entries[0].undefined))
    };
    // Transposed: each of 8 x 8 inputs of 16 channels is spread over 2 x 2 outputs of 8.
    let up = conv("ConvTranspose", &["1", "16", "8", "8"], &[16, 8, 2, 2], &[("strides", List(&[2, 2]))]);
    assert_eq!(up.flops, 2.0 * 16.0 * 8.0 * 4.0 * 64.0);
    assert_eq!(up.activation_bytes, 4.0 * (16.0 * 64.0 + 8.0 * 256.0));
    let extra =
        [("strides", List(&[2, 2])), ("pads", List(&[1, 1, 1, 1])), ("output_padding", List(&[1, 1]))];
    let up = conv("ConvTranspose", &["1", "16", "8", "8"], &[16, 8, 3, 3], &extra);
    assert_eq!(up.activation_bytes, 4.0 * (16.0 * 64.0 + 8.0 * 256.0));
    // One kernel for each channel, a hole between its taps.
    let says = [("group", Number(32)), ("dilations", List(&[2, 2])), ("pads", List(&[2, 2, 2, 2]))];
    let depthwise = conv("Conv", &["1", "32", "10", "10"], &[32, 1, 3, 3], &says);
    assert_eq!((depthwise.flops, depthwise.weight_bytes), (2.0 * 9.0 * 32.0 * 100.0, 4.0 * 9.0 * 32.0));
    // Padding that keeps the size: one zero at one end alone.
    let same = conv("Conv", &["1", "4", "9"], &[8, 4, 2], &[("auto_pad", Word("SAME_UPPER"))]);
    assert_eq!(same.flops, 2.0 * 8.0 * 4.0 * 2.0 * 9.0);
    let volume = conv("Conv", &["2", "3", "4", "5", "6"], &[7, 3, 1, 3, 3], &[]);
    assert_eq!(volume.flops, 2.0 * 2.0 * 7.0 * 3.0 * 9.0 * (4.0 * 3.0 * 4.0));
}

#[test]
fn attention_is_known_as_products_and_as_a_node() {
    let model = open(
        "attention",
        &(Graph::default()
            .input("q", &["1", "12", "197", "64"])
            .input("k", &["1", "12", "64", "197"])
            .input("x", &["1", "197", "768"])
            .weight("w", &[768, 3072], FLOAT)
            .node("MatMul", &["q", "k"], &["scores"], &[])
            .node("MatMul", &["x", "w"], &["wide"], &[])
            .node("MultiHeadAttention", &["x", "x", "x"], &["y"], &[("num_heads", Number(12))])),
    );
    let pairs = 12 * 197 * 197 * 64;
    let expected = [
        format!("MatMul_0 {} {}", 2 * pairs, 4 * (2 * 12 * 197 * 64 + 12 * 197 * 197)),
        format!("MatMul_1 {} {}", 2 * 197 * 768 * 3072, 4 * (197 * 768 + 768 * 3072 + 197 * 3072)),
        // Scores and sums; queries and results, keys and values.
        format!("MultiHeadAttention_2 {} {}", 4 * pairs, 4 * (2 * 197 * 768 + 2 * 197 * 768)),
    ];
    assert_eq!(lines(&profiled(&model, &[], 1)), expected);
}

#[test]
fn quantized_nodes_have_the_bytes_of_their_types() {
    let scale =
        |graph: Graph, names: &[&str]| names.iter().fold(graph, |graph, name| graph.weight(name, &[], FLOAT));
    let graph =
        Graph::default().value(11, "x", &["1", "4", "8", "8"], UINT8).value(11, "rows", &["5", "64"], UINT8);
    let graph = scale(graph, &["s", "z", "t", "u", "v", "y"])
        .weight("w", &[8, 4, 3, 3], INT8)
        .weight("m", &[64, 32], INT8)
        .input("f", &["5", "64"])
        .weight("packed", &[32, 2, 16], UINT8)
        .weight("scales", &[32, 2], FLOAT)
        .node("QLinearConv", &["x", "s", "z", "w", "t", "u", "v", "y"], &["a"], &[])
        .node("MatMulInteger", &["rows", "m"], &["b"], &[])
        .node(
            "MatMulNBits",
            &["f", "packed", "scales"],
            &["c"],
            &[("K", Number(64)), ("N", Number(32)), ("bits", Number(4)), ("block_size", Number(32))],
        )
        .node("DequantizeLinear", &["rows", "s"], &["d"], &[]);
    let costs = profiled(&open("quantized", &graph), &[], 1);
    let expected = [
        format!("QLinearConv_0 {} {}", 2 * 8 * 4 * 9 * 36, 8 * 4 * 9 + 4 * 64 + 8 * 36),
        format!("MatMulInteger_1 {} {}", 2 * 5 * 64 * 32, 64 * 32 + 5 * (64 + 32)),
        // Half a byte for each weight, and four for each 32.
        format!("MatMulNBits_2 {} {}", 2 * 5 * 64 * 32, 1024 + 256 + 4 * 5 * (64 + 32)),
        format!("DequantizeLinear_3 {} {}", 2 * 5 * 64, 5 * 64 + 4 + 4 * 5 * 64),
    ];
    assert_eq!(lines(&costs), expected);
    assert_eq!(costs.entries[0].dtype.as_deref(), Some("I8"));
}

#[test]
fn shapes_that_are_computed_are_followed() {
    // The batch of the input, and what is left: as exporters write a flattening.
    let model = open(
        "computed",
        &(Graph::default()
            .input("x", &["N", "8", "4", "4"])
            .numbers("zero", &[0])
            .numbers("rest", &[-1])
            .weight("w", &[128, 10], FLOAT)
            .node("Shape", &["x"], &["shape"], &[])
            .node("Gather", &["shape", "zero"], &["batch"], &[])
            .node("Concat", &["batch", "rest"], &["wanted"], &[("axis", Number(0))])
            .node("Reshape", &["x", "wanted"], &["flat"], &[])
            .node("MatMul", &["flat", "w"], &["y"], &[])),
    );
    let costs = profiled(&model, &[], 3);
    assert_eq!(costs.undefined().count(), 0);
    assert_eq!(costs.entries.last().unwrap().pass.unwrap().flops, 2.0 * 3.0 * 128.0 * 10.0);
}

#[test]
fn what_is_not_known_is_undefined_and_the_file_may_know_the_shape_behind_it() {
    let model = open(
        "unknown",
        &(Graph::default()
            .input("x", &["seq", "16"])
            .value(13, "a", &["seq", "32"], FLOAT)
            .weight("w", &[32, 8], FLOAT)
            .weight("v", &[4, 4], FLOAT)
            .node("SomethingNew", &["x"], &["a"], &[])
            .node("MatMul", &["a", "w"], &["b"], &[])
            .node("NonZero", &["b"], &["c"], &[])
            .node("MatMul", &["c", "v"], &["d"], &[])),
    );
    let expected = [
        "SomethingNew_0 SomethingNew is not among the operators whose cost is known".to_owned(),
        format!("MatMul_1 {} {}", 2 * 7 * 32 * 8, 4 * (7 * 32 + 32 * 8 + 7 * 8)),
        "NonZero_2 NonZero is not among the operators whose cost is known".to_owned(),
        "MatMul_3 the shape of its input \"c\" is not known".to_owned(),
    ];
    assert_eq!(lines(&profiled(&model, &given(&[("x", &[7, 16])]), 1)), expected);
}

#[test]
fn inputs_that_do_not_fit_are_refused_with_what_the_file_states() {
    let model = open("inputs", &(Graph::default().input("x", &["N", "3", "H", "H"]).input("y", &["N", "3"])));
    let graph = model.graph.unwrap();
    let told = |inputs: &[(&str, &[u64])]| graph.infer(&given(inputs), 1).unwrap_err().to_string();
    assert_eq!(told(&[]), "`--input`: \"x\": its shape is \"N\"x3x\"H\"x\"H\": give it as NAME=1x3x224x224");
    assert_eq!(
        told(&[("x", &[1, 3, 8, 9])]),
        "`--input`: \"x\": 9 is given where the file states 8 (\"N\"x3x\"H\"x\"H\")"
    );
    assert_eq!(
        told(&[("x", &[1, 3])]),
        "`--input`: \"x\": 2 dimensions where the file states \"N\"x3x\"H\"x\"H\""
    );
    let unknown = told(&[("z", &[1])]);
    assert!(unknown.starts_with("`--input`: \"z\" is not known; the inputs are \"x\" ("), "{unknown}");
    // The batch of one input is that of the other.
    let inferred = graph.infer(&given(&[("x", &[5, 3, 8, 8])]), 1).unwrap();
    assert_eq!(inferred.batch, 5);
    assert!(graph.infer(&given(&[("x", &[5, 3, 8, 8]), ("y", &[4, 3])]), 1).is_err());
}

#[test]
fn files_that_lie_are_refused_with_the_place() {
    let of = |graph: Graph| read(&graph.build()).err().unwrap().to_string();
    let twice = Graph::default().weight("w", &[1], FLOAT).weight("w", &[1], FLOAT);
    assert_eq!(of(twice), "tensor \"w\" is there twice");
    assert_eq!(of(Graph::default().weight("w", &[-1], FLOAT)), "tensor \"w\": a negative dimension");
    assert_eq!(of(Graph::default().weight("w", &[i64::MAX, 4], FLOAT)), "tensor \"w\": dimensions overflow");
    assert_eq!(
        of(Graph::default().weight("w", &[1; 65], FLOAT)),
        "tensor \"w\": 65 dimensions, but at most 64 are read"
    );
    let short = Message::default().int(1, 4).int(2, FLOAT).text(8, "w").bytes(9, &[0; 15]);
    assert_eq!(
        of(Graph(Message::default().message(5, &short))),
        "tensor \"w\": 15 bytes for 4 elements of type F32, which take 16"
    );
    let two = Graph::default().node("Relu", &["x"], &["y"], &[]).node("Relu", &["x"], &["y"], &[]);
    assert_eq!(of(two), "node 1: \"y\" is made by another node too");
    let empty = Message::default().int(1, 8).0;
    assert_eq!(read(&empty).err().unwrap().to_string(), "the model has no graph");
    let many = Graph(Message((0..1 << 18).flat_map(|_| [0x0a, 0]).collect()));
    assert!(of(many).contains("nodes, but at most"));
}

#[test]
fn every_cut_and_every_changed_byte_of_a_graph_does_no_harm() {
    let bytes = network("N")
        .numbers("wanted", &[0, -1])
        .node("Reshape", &["a", "wanted"], &["r"], &[])
        .node("Slice", &["a", "wanted", "wanted"], &["s"], &[])
        .node("Split", &["a"], &["t", "u"], &[("axis", Number(1))])
        .node("ConvTranspose", &["a", "w"], &["v"], &[])
        .node("LSTM", &["x", "w", "w"], &["z"], &[])
        .build();
    let refused = (0..bytes.len()).filter(|end| read(&bytes[..*end]).is_err()).count();
    assert!(refused > bytes.len() / 2, "{refused} of {}", bytes.len());
    let mut changed = bytes.clone();
    for place in 0..bytes.len() {
        for value in [0, 1, 0x7f, 0x80, 0xff, bytes[place] ^ 1] {
            changed[place] = value;
            checks::onnx(&changed);
        }
        changed[place] = bytes[place];
    }
}

#[test]
fn a_graph_is_told_by_its_content_and_found_in_its_directory() {
    let bytes = network("1").build();
    let directory = files("onnx-found", &[("net.onnx", &bytes), ("other.bin", &bytes)]);
    assert_eq!(Model::open(directory.join("other.bin")).unwrap().format, Format::Onnx);
    assert_eq!(Model::open(&directory).unwrap().format, Format::Onnx);
    let told = Model::open(files("onnx-bad", &[("x.onnx", b"nonsense")])).unwrap_err().to_string();
    assert!(told.contains("x.onnx: the model: failed to decode"), "{told}");
    let graph = Model::open(directory).unwrap().graph.unwrap();
    assert!(
        matches!(&graph.infer(&[], 1).unwrap().steps[0].task, Ok(Task::Convolution(one)) if one.dtype == Dtype::F32)
    );
}
