//! Sets of devices that run one model together.

use crate::predict::DeviceProfile;

/// Identical devices.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Number of devices.
    pub count: u64,
    /// Figures of one device.
    pub target: DeviceProfile,
    /// Link bandwidth of one device in one direction, in GB/s; `None` if unknown.
    pub link: Option<f64>,
    /// Launch price of one device, in USD.
    pub price: Option<f64>,
}

/// Devices that run one model together, in groups of identical ones.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceSet {
    /// Nonempty groups.
    pub groups: Vec<Group>,
}

/// Maximum number of devices in a set, which bounds the number of layouts.
pub const MAX_DEVICES: u64 = 4096;

impl DeviceSet {
    /// Creates a set of `count` identical devices.
    pub fn new(count: u64, target: DeviceProfile, link: Option<f64>) -> DeviceSet {
        DeviceSet { groups: vec![Group { count, target, link, price: None }] }
    }

    /// Returns the number of devices.
    pub fn devices(&self) -> u64 {
        self.groups.iter().map(|group| group.count).sum()
    }

    /// Returns the usual notation, such as `2x rtx_3090, 1x rtx_4090`.
    pub fn name(&self) -> String {
        let names = self.groups.iter().map(|group| format!("{}x {}", group.count, group.target.name));
        names.collect::<Vec<_>>().join(", ")
    }

    /// Returns the bandwidth of the slowest link, in GB/s; `None` if any is unknown.
    pub fn link(&self) -> Option<f64> {
        self.groups.iter().map(|group| group.link).reduce(|a, b| Some(a?.min(b?))).flatten()
    }

    /// Returns the total memory, in GB; `None` if any is unknown.
    pub fn capacity(&self) -> Option<f64> {
        self.groups.iter().map(|group| Some(group.target.capacity? * group.count as f64)).sum()
    }

    /// Returns the total power, in W; `None` if any is unknown.
    pub fn power(&self) -> Option<f64> {
        self.groups.iter().map(|group| Some(group.target.tdp? * group.count as f64)).sum()
    }

    /// Returns the total price, in USD; `None` if any is unknown.
    pub fn price(&self) -> Option<f64> {
        self.groups.iter().map(|group| Some(group.price? * group.count as f64)).sum()
    }
}
