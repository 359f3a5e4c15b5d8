//! Topology of cores, sockets and NUMA nodes, from `/sys/devices/system` on Linux.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::system::cpu_list;

/// Topology of the CPUs that this process may use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Topology {
    /// Number of sockets.
    pub sockets: usize,
    /// Number of cores.
    pub cores: usize,
    /// Maximum number of hardware threads per core; more than 1 with SMT.
    pub threads_per_core: usize,
    /// Number of NUMA nodes.
    pub nodes: usize,
}

/// CPUs by core and NUMA node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Groups {
    /// CPUs of each core.
    pub cores: Vec<Vec<usize>>,
    /// Number and CPUs of each NUMA node.
    pub nodes: Vec<(usize, Vec<usize>)>,
    sockets: usize,
}

impl Groups {
    /// Reads the groups of the allowed CPUs from a directory; empty if the files are missing.
    pub fn read(system: &Path, allowed: &[usize]) -> Groups {
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

    /// Counts the groups; `None` if they are unknown.
    pub fn topology(&self) -> Option<Topology> {
        let threads_per_core = self.cores.iter().map(Vec::len).max()?;
        let (sockets, nodes) = (self.sockets.max(1), self.nodes.len().max(1));
        Some(Topology { sockets, cores: self.cores.len(), threads_per_core, nodes })
    }

    /// Returns one CPU per core; `None` without SMT.
    pub fn one_per_core(&self) -> Option<Vec<usize>> {
        let several = self.cores.iter().any(|core| core.len() > 1);
        several.then(|| self.cores.iter().filter_map(|core| core.first().copied()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates the files of a machine with two sockets, each with two cores of two threads.
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
        // Memory without CPUs, such as CXL memory.
        write("node/node2/cpulist".into(), "\n");
        write("node/possible".into(), "0-2\n");
        root
    }

    #[test]
    fn cores_and_numa_nodes_are_read() {
        let root = machine("whole");
        let groups = Groups::read(&root, &[0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(groups.cores, [[0, 4], [1, 5], [2, 6], [3, 7]]);
        assert_eq!(groups.nodes, [(0, vec![0, 1, 4, 5]), (1, vec![2, 3, 6, 7])]);
        assert_eq!(groups.one_per_core(), Some(vec![0, 1, 2, 3]));
        let expected = Topology { sockets: 2, cores: 4, threads_per_core: 2, nodes: 2 };
        assert_eq!(groups.topology(), Some(expected));
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn only_allowed_cpus_are_counted() {
        let root = machine("part");
        let groups = Groups::read(&root, &[2, 3]);
        assert_eq!((groups.one_per_core(), groups.nodes.len()), (None, 1));
        let expected = Topology { sockets: 1, cores: 2, threads_per_core: 1, nodes: 1 };
        assert_eq!(groups.topology(), Some(expected));
        assert_eq!(Groups::read(&root, &[9]), Groups::default(), "a CPU without files");
        assert_eq!(Groups::read(&root.join("none"), &[0]).topology(), None);
        fs::remove_dir_all(root).unwrap();
    }
    #[test]
    fn invalid_files_are_ignored() {
        let root = machine("hostile");
        let anything =
            ["", "\n", "garbage", "-1", "0-99999999999", "99999999999999999999", "3-1", ",,,", "\u{0}\u{ff}"];
        for text in anything {
            fs::write(root.join("cpu/cpu0/topology/thread_siblings_list"), text).unwrap();
            fs::write(root.join("cpu/cpu0/topology/physical_package_id"), text).unwrap();
            fs::write(root.join("node/node1/cpulist"), text).unwrap();
            let groups = Groups::read(&root, &[0, 1, 4, 5]);
            // Every allowed CPU is in exactly one core, and nodes contain no other CPUs.
            let mut all = groups.cores.concat();
            all.sort();
            assert_eq!(all, [0, 1, 4, 5], "{text:?}");
            assert!(groups.nodes.iter().all(|(_, cpus)| cpus.iter().all(|cpu| [0, 1, 4, 5].contains(cpu))));
            let topology = groups.topology().unwrap();
            assert!(topology.nodes >= 1 && topology.sockets >= 1 && topology.threads_per_core >= 1);
        }
        // Invalid UTF-8, and a directory instead of a file.
        fs::write(root.join("cpu/cpu0/topology/thread_siblings_list"), [0xff, 0xfe]).unwrap();
        assert_eq!(Groups::read(&root, &[0, 1]), Groups::default());
        fs::remove_file(root.join("node/node0/cpulist")).unwrap();
        fs::create_dir(root.join("node/node0/cpulist")).unwrap();
        assert_eq!(Groups::read(&root, &[1]).nodes, []);
        fs::remove_dir_all(root).unwrap();
    }
}
