//! Which processors share a core and which memory is near them, as Linux tells in `/sys/devices/system`, to everybody.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::system::cpu_list;

/// How the processors that this process may use are made up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Topology {
    /// Packages with at least one of them.
    pub sockets: usize,
    /// Cores with at least one of them.
    pub cores: usize,
    /// Processors of a core, the most that one has: more than one where SMT is on.
    pub threads_a_core: usize,
    /// Memory nodes with at least one of them.
    pub nodes: usize,
}

/// The same with numbers: which processors, of those allowed, belong together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Groups {
    /// Of each core.
    pub cores: Vec<Vec<usize>>,
    /// Number and processors of each memory node.
    pub nodes: Vec<(usize, Vec<usize>)>,
    sockets: usize,
}

impl Groups {
    /// What the files below a directory say of these processors; empty where they say nothing.
    pub fn of(system: &Path, allowed: &[usize]) -> Groups {
        let (mut cores, mut sockets): (Vec<Vec<usize>>, Vec<String>) = (Vec::new(), Vec::new());
        for cpu in allowed {
            let topology = system.join(format!("cpu/cpu{cpu}/topology"));
            let read = |name: &str| fs::read_to_string(topology.join(name)).ok();
            let Some(siblings) = read("thread_siblings_list") else { return Groups::default() };
            let siblings = cpu_list(&siblings);
            match cores.iter_mut().find(|core| core.iter().any(|cpu| siblings.contains(cpu))) {
                Some(core) => core.push(*cpu),
                None => cores.push(vec![*cpu]),
            }
            sockets.extend(read("physical_package_id").map(|id| id.trim().to_owned()));
        }
        sockets.sort();
        sockets.dedup();
        let entries = fs::read_dir(system.join("node")).into_iter().flatten().flatten();
        let mut nodes: Vec<(usize, Vec<usize>)> = entries
            .filter_map(|entry| {
                let number = entry.file_name().to_str()?.strip_prefix("node")?.parse().ok()?;
                let mut cpus = cpu_list(&fs::read_to_string(entry.path().join("cpulist")).ok()?);
                cpus.retain(|cpu| allowed.contains(cpu));
                (!cpus.is_empty()).then_some((number, cpus))
            })
            .collect();
        nodes.sort();
        Groups { cores, nodes, sockets: sockets.len() }
    }

    /// How many of each; none where the system does not tell.
    pub fn topology(&self) -> Option<Topology> {
        let threads_a_core = self.cores.iter().map(Vec::len).max()?;
        let (sockets, nodes) = (self.sockets.max(1), self.nodes.len().max(1));
        Some(Topology { sockets, cores: self.cores.len(), threads_a_core, nodes })
    }

    /// One processor of each core, where some have several.
    pub fn one_a_core(&self) -> Option<Vec<usize>> {
        let several = self.cores.iter().any(|core| core.len() > 1);
        several.then(|| self.cores.iter().filter_map(|core| core.first().copied()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files as a machine of two sockets, each with two cores of two threads, has them.
    fn machine(name: &str) -> std::path::PathBuf {
        let root = std::env::temp_dir().join(format!("roofline-topology-{name}-{}", std::process::id()));
        let write = |path: String, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        for cpu in 0..8 {
            let core = cpu % 4;
            let siblings = format!("{core},{}\n", core + 4);
            write(format!("cpu/cpu{cpu}/topology/thread_siblings_list"), &siblings);
            write(format!("cpu/cpu{cpu}/topology/physical_package_id"), &format!("{}\n", core / 2));
        }
        write("node/node0/cpulist".into(), "0-1,4-5\n");
        write("node/node1/cpulist".into(), "2-3,6-7\n");
        // Memory without processors, such as that behind a bus.
        write("node/node2/cpulist".into(), "\n");
        write("node/possible".into(), "0-2\n");
        root
    }

    #[test]
    fn threads_of_a_core_and_nodes_of_memory_are_found() {
        let root = machine("whole");
        let groups = Groups::of(&root, &[0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(groups.cores, [[0, 4], [1, 5], [2, 6], [3, 7]]);
        assert_eq!(groups.nodes, [(0, vec![0, 1, 4, 5]), (1, vec![2, 3, 6, 7])]);
        assert_eq!(groups.one_a_core(), Some(vec![0, 1, 2, 3]));
        let expected = Topology { sockets: 2, cores: 4, threads_a_core: 2, nodes: 2 };
        assert_eq!(groups.topology(), Some(expected));
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn only_the_processors_that_may_be_used_count() {
        let root = machine("part");
        let groups = Groups::of(&root, &[2, 3]);
        assert_eq!((groups.one_a_core(), groups.nodes.len()), (None, 1));
        let expected = Topology { sockets: 1, cores: 2, threads_a_core: 1, nodes: 1 };
        assert_eq!(groups.topology(), Some(expected));
        assert_eq!(Groups::of(&root, &[9]), Groups::default(), "a processor that nobody tells of");
        assert_eq!(Groups::of(&root.join("none"), &[0]).topology(), None);
        fs::remove_dir_all(root).unwrap();
    }
    #[test]
    fn files_with_anything_in_them_are_read_without_harm() {
        let root = machine("hostile");
        let anything =
            ["", "\n", "garbage", "-1", "0-99999999999", "99999999999999999999", "3-1", ",,,", "\u{0}\u{ff}"];
        for text in anything {
            fs::write(root.join("cpu/cpu0/topology/thread_siblings_list"), text).unwrap();
            fs::write(root.join("cpu/cpu0/topology/physical_package_id"), text).unwrap();
            fs::write(root.join("node/node1/cpulist"), text).unwrap();
            let groups = Groups::of(&root, &[0, 1, 4, 5]);
            // Every processor that may be used is in exactly one core, and nodes have no others.
            let mut all = groups.cores.concat();
            all.sort();
            assert_eq!(all, [0, 1, 4, 5], "{text:?}");
            assert!(groups.nodes.iter().all(|(_, cpus)| cpus.iter().all(|cpu| [0, 1, 4, 5].contains(cpu))));
            let topology = groups.topology().unwrap();
            assert!(topology.nodes >= 1 && topology.sockets >= 1 && topology.threads_a_core >= 1);
        }
        // Bytes that are no text, and a directory where a file should be, which nobody can read.
        fs::write(root.join("cpu/cpu0/topology/thread_siblings_list"), [0xff, 0xfe]).unwrap();
        assert_eq!(Groups::of(&root, &[0, 1]), Groups::default());
        fs::remove_file(root.join("node/node0/cpulist")).unwrap();
        fs::create_dir(root.join("node/node0/cpulist")).unwrap();
        assert_eq!(Groups::of(&root, &[1]).nodes, []);
        fs::remove_dir_all(root).unwrap();
    }
}
