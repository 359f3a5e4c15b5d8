//! ONNX graphs: shapes and costs of nodes, from `cases/graphs.yaml`, and truncated or inconsistent files.

use std::collections::BTreeMap;

use roofline::contracts::hardware::devices::H100_SXM;
use roofline::model::onnx::{InputShape, Task};
use roofline::model::readers::onnx as read;
use roofline::model::{Dtype, Format, Model, Role};
use roofline::predict::DeviceProfile;
use roofline::profile::{Entry, onnx as profiles};
use serde::Deserialize;
use serde_yaml::Mapping;

use crate::cases::figure::{self, Figure, Names};
use crate::{cases, checks};
use roofline_test_support::graph::Attribute::Number;
use roofline_test_support::graph::{FLOAT, Graph, Message};
use roofline_test_support::network::Network;
use roofline_test_support::scratch::files;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    cases: BTreeMap<String, Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Case {
    network: Network,
    #[serde(default, rename = "where")]
    own: Mapping,
    /// Shapes of inputs by name.
    #[serde(default)]
    given: BTreeMap<String, Vec<u64>>,
    batch: Option<u64>,
    /// The batch of the inputs.
    batch_found: Option<u64>,
    /// Part of the error for the inputs.
    error: Option<String>,
    parameters: Option<Figure>,
    summary: Option<BTreeMap<String, String>>,
    /// Floating-point operations and bytes of each node, or the reason why they are unknown.
    nodes: Option<BTreeMap<String, Cost>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Cost {
    Known(Figure, Figure),
    Undefined(String),
}

impl Case {
    fn check(&self, name: &str) {
        let mut names = Names::new();
        figure::define(&mut names, self.own.clone()).unwrap();
        let directory = format!("onnx-{}", name.replace(|next: char| !next.is_alphanumeric(), "-"));
        let files = files(&directory, &[("m.onnx", &self.network.graph().build())]);
        let model = Model::open(files.join("m.onnx")).unwrap();
        assert_eq!(model.format, Format::Onnx);
        if let Some(parameters) = &self.parameters {
            assert_eq!(i128::from(model.parameters()), parameters.value(&names));
        }
        if let Some(summary) = &self.summary {
            assert_eq!(&model.summary.iter().cloned().collect::<BTreeMap<_, _>>(), summary);
        }
        let given =
            |(name, dims): (&String, &Vec<u64>)| InputShape { name: Some(name.clone()), dims: dims.clone() };
        let given: Vec<InputShape> = self.given.iter().map(given).collect();
        let inferred =
            match (model.graph.as_ref().unwrap().infer(&given, self.batch.unwrap_or(1)), &self.error) {
                (Ok(inferred), None) => inferred,
                (Ok(_), Some(error)) => panic!("accepted, expected {error:?}"),
                (Err(found), expected) => {
                    let (found, expected) = (found.to_string(), expected.as_ref().expect("valid inputs"));
                    return assert!(found.contains(expected), "{found}");
                }
            };
        assert_eq!(self.batch_found.unwrap_or(inferred.batch), inferred.batch);
        let costs =
            profiles::profile(&model, &inferred, &DeviceProfile::from_device(&H100_SXM, None).unwrap())
                .unwrap();
        let Some(expected) = &self.nodes else { return };
        let found: BTreeMap<&String, &Entry> =
            costs.entries.iter().map(|entry| (&entry.name, entry)).collect();
        // Nodes without operations need not be listed.
        let idle = |entry: &&Entry| entry.pass.is_some_and(|cost| cost.flops == 0.0);
        let listed = found.values().filter(|entry| !idle(entry) || expected.contains_key(&entry.name));
        assert_eq!(listed.map(|entry| &entry.name).collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
        for (node, cost) in expected {
            let entry = found[node];
            match cost {
                Cost::Known(flops, bytes) => {
                    let pass = entry.pass.unwrap_or_else(|| panic!("{node}: {:?}", entry.undefined));
                    let expected = [flops, bytes].map(|figure| figure.value(&names) as f64);
                    assert_eq!([pass.flops, pass.ideal_bytes], expected, "{node}");
                }
                Cost::Undefined(reason) => assert_eq!(entry.undefined.as_ref(), Some(reason), "{node}"),
            }
        }
        if let Some(pass) = costs.pass {
            let defined = costs.entries.iter().filter_map(|entry| entry.pass);
            assert_eq!(pass.flops, defined.map(|cost| cost.flops).sum::<f64>());
            assert!((pass.ceiling_per_s * pass.least_s - inferred.batch as f64).abs() < 1e-9);
        }
    }
}

fn table() -> Table {
    cases::table(include_str!("cases/graphs.yaml"))
}

/// First and last nodes of an image network.
fn network() -> Graph {
    table().cases["the first and last nodes of an image network"].network.graph()
}

#[test]
fn graphs_have_the_expected_costs() {
    for (name, case) in table().cases {
        println!("{name}");
        case.check(&name);
    }
}

#[test]
fn nodes_have_roles_and_types() {
    let directory = files("onnx-roles", &[("m.onnx", &network().build())]);
    let model = Model::open(directory.join("m.onnx")).unwrap();
    let inferred = model.graph.as_ref().unwrap().infer(&[], 1).unwrap();
    let costs =
        profiles::profile(&model, &inferred, &DeviceProfile::from_device(&H100_SXM, None).unwrap()).unwrap();
    let roles: Vec<Role> = costs.entries.iter().map(|entry| entry.role).collect();
    assert_eq!(roles[..3], [Role::Convolution, Role::Norm, Role::Other]);
    assert_eq!((costs.entries[0].dtype.as_deref(), costs.entries[0].parameters), (Some("F32"), 9408.0));
}

#[test]
fn inconsistent_files_are_rejected_with_their_location() {
    let of = |graph: Graph| read(&graph.build()).err().unwrap().to_string();
    let twice = Graph::default().weight("w", &[1], FLOAT).weight("w", &[1], FLOAT);
    assert_eq!(of(twice), "duplicate tensor \"w\"");
    assert_eq!(of(Graph::default().weight("w", &[-1], FLOAT)), "tensor \"w\": negative dimension");
    assert_eq!(of(Graph::default().weight("w", &[i64::MAX, 4], FLOAT)), "tensor \"w\": dimensions overflow");
    assert_eq!(
        of(Graph::default().weight("w", &[1; 65], FLOAT)),
        "tensor \"w\": found 65 dimensions; expected at most 64"
    );
    let short = Message::default().int(1, 4).int(2, FLOAT).text(8, "w").bytes(9, &[0; 15]);
    assert_eq!(
        of(Graph(Message::default().message(5, &short))),
        "tensor \"w\": 4 elements of type F32 take 16 bytes, found 15"
    );
    let two = Graph::default().node("Relu", &["x"], &["y"], &[]).node("Relu", &["x"], &["y"], &[]);
    assert_eq!(of(two), "node 1: duplicate output \"y\"");
    let empty = Message::default().int(1, 8).0;
    assert_eq!(read(&empty).err().unwrap().to_string(), "missing graph");
    let many = Graph(Message((0..1 << 18).flat_map(|_| [0x0a, 0]).collect()));
    assert!(of(many).contains("nodes; expected at most"));
}

#[test]
fn truncated_and_modified_graphs_pass_the_checks() {
    let bytes = network()
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
fn graphs_are_detected_by_content_and_in_directories() {
    let bytes = network().build();
    let directory = files("onnx-found", &[("net.onnx", &bytes), ("other.bin", &bytes)]);
    assert_eq!(Model::open(directory.join("other.bin")).unwrap().format, Format::Onnx);
    assert_eq!(Model::open(&directory).unwrap().format, Format::Onnx);
    let message = Model::open(files("onnx-bad", &[("x.onnx", b"nonsense")])).unwrap_err().to_string();
    assert!(message.contains("x.onnx: invalid model: failed to decode"), "{message}");
    let graph = Model::open(directory).unwrap().graph.unwrap();
    assert!(
        matches!(&graph.infer(&[], 1).unwrap().steps[0].task, Ok(Task::Convolution(one)) if one.dtype == Dtype::F32)
    );
}
