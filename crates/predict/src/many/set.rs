//! Devices that work on one model together.

use crate::predict::Target;

/// Equal devices.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// How many.
    pub count: u64,
    /// Each of them.
    pub target: Target,
    /// What its links to the others carry in one direction, in GB/s; none where nobody says.
    pub link: Option<f64>,
    /// What its vendor asked for one at the launch, in US dollars.
    pub price: Option<f64>,
}

/// Devices that work together, in groups of equal ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Set {
    /// The groups, none of them empty.
    pub groups: Vec<Group>,
}

/// More devices than these in one set are a mistake, and layouts would be without number.
pub const MOST_DEVICES: u64 = 4096;

impl Set {
    /// So many equal devices.
    pub fn of(count: u64, target: Target, link: Option<f64>) -> Set {
        Set { groups: vec![Group { count, target, link, price: None }] }
    }

    /// All devices.
    pub fn devices(&self) -> u64 {
        self.groups.iter().map(|group| group.count).sum()
    }

    /// As people write it: `2x rtx_3090, 1x rtx_4090`.
    pub fn name(&self) -> String {
        let names = self.groups.iter().map(|group| format!("{}x {}", group.count, group.target.name));
        names.collect::<Vec<_>>().join(", ")
    }

    /// The link of the slowest; none where one is not known.
    pub fn link(&self) -> Option<f64> {
        self.groups.iter().map(|group| group.link).reduce(|a, b| Some(a?.min(b?))).flatten()
    }

    /// Memory of all, in GB; none where that of one is not known.
    pub fn capacity(&self) -> Option<f64> {
        self.groups.iter().map(|group| Some(group.target.capacity? * group.count as f64)).sum()
    }

    /// Power of all, in W; none where that of one is not known.
    pub fn power(&self) -> Option<f64> {
        self.groups.iter().map(|group| Some(group.target.tdp? * group.count as f64)).sum()
    }

    /// Price of all, in US dollars; none where that of one is not known.
    pub fn price(&self) -> Option<f64> {
        self.groups.iter().map(|group| Some(group.price? * group.count as f64)).sum()
    }
}
