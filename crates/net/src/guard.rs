//! Addresses that Belay never connects to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A range of refused addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefusedNetwork {
    pub network: IpAddr,
    /// Leading bits that an address shares with the network.
    pub prefix: u32,
    /// What the range is used for.
    pub purpose: &'static str,
}

/// Every range that neither an upstream nor a webhook may be in. A request to one of them is
/// either an attempt to reach a cloud's metadata service or a mistake.
pub const REFUSED_NETWORKS: &[RefusedNetwork] = &[
    v4([0, 0, 0, 0], 32, "unspecified"),
    v4([100, 100, 100, 200], 32, "cloud metadata"), // Alibaba Cloud
    v4([168, 63, 129, 16], 32, "cloud metadata"),   // Azure
    v4([169, 254, 0, 0], 16, "link-local"),         // with the metadata service of most clouds
    v4([224, 0, 0, 0], 4, "multicast"),
    v4([255, 255, 255, 255], 32, "broadcast"),
    v6([0, 0, 0, 0, 0, 0, 0, 0], 128, "unspecified"),
    v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254], 128, "cloud metadata"), // EC2
    v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10, "link-local"),
    v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8, "multicast"),
];

const fn v4([a, b, c, d]: [u8; 4], prefix: u32, purpose: &'static str) -> RefusedNetwork {
    RefusedNetwork { network: IpAddr::V4(Ipv4Addr::new(a, b, c, d)), prefix, purpose }
}

const fn v6([a, b, c, d, e, f, g, h]: [u16; 8], prefix: u32, purpose: &'static str) -> RefusedNetwork {
    RefusedNetwork { network: IpAddr::V6(Ipv6Addr::new(a, b, c, d, e, f, g, h)), prefix, purpose }
}

impl RefusedNetwork {
    fn contains(&self, address: IpAddr) -> bool {
        match (self.network, address) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                (network.to_bits() ^ address.to_bits()).leading_zeros() >= self.prefix
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                (network.to_bits() ^ address.to_bits()).leading_zeros() >= self.prefix
            }
            _ => false,
        }
    }
}

/// The refused range that an address is in. An IPv4 address mapped into IPv6 counts as IPv4.
pub fn refused_network(address: IpAddr) -> Option<&'static RefusedNetwork> {
    let address = address.to_canonical();
    REFUSED_NETWORKS.iter().find(|refused| refused.contains(address))
}

/// Whether an address belongs to this machine or to a private network.
pub fn is_local_network(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => v4.is_loopback() || v4.is_private(),
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unique_local(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_range_is_refused_from_end_to_end() {
        let refused = |address: &str| refused_network(address.parse().expect("an address")).map(|range| range.purpose);
        for (address, range) in [
            ("0.0.0.0", Some("unspecified")),
            ("0.0.0.1", None),
            ("169.253.255.255", None),
            ("169.254.0.0", Some("link-local")),
            ("169.254.169.254", Some("link-local")),
            ("169.254.255.255", Some("link-local")),
            ("169.255.0.0", None),
            ("168.63.129.16", Some("cloud metadata")),
            ("100.100.100.200", Some("cloud metadata")),
            ("100.100.100.201", None),
            ("224.0.0.1", Some("multicast")),
            ("239.255.255.255", Some("multicast")),
            ("240.0.0.0", None),
            ("255.255.255.255", Some("broadcast")),
            ("::", Some("unspecified")),
            ("::1", None),
            ("fe80::1", Some("link-local")),
            ("febf::1", Some("link-local")),
            ("fec0::1", None),
            ("ff02::1", Some("multicast")),
            ("fd00:ec2::254", Some("cloud metadata")),
            ("fd00:ec2::253", None),
            ("::ffff:169.254.169.254", Some("link-local")),
            ("::ffff:168.63.129.16", Some("cloud metadata")),
            ("127.0.0.1", None),
            ("93.184.216.34", None),
        ] {
            assert_eq!(refused(address), range, "{address}");
        }
    }
}
