//! Public and other addresses, at both ends of each range.

use std::net::IpAddr;

use forecourt_webhook_client::is_public;

#[track_caller]
fn assert_all(public: bool, addresses: &[&str]) {
    for text in addresses {
        let address: IpAddr = text.parse().unwrap();
        assert_eq!(is_public(address), public, "{text}");
    }
}

#[test]
fn the_ends_of_what_is_not_public_in_ipv4() {
    assert_all(
        false,
        &[
            "0.0.0.0",
            "0.255.255.255",
            "10.0.0.0",
            "10.255.255.255",
            "100.64.0.0",
            "100.127.255.255",
            "127.0.0.0",
            "127.0.0.1",
            "127.255.255.255",
            "168.63.129.16",
            "169.254.0.0",
            "169.254.169.254",
            "169.254.255.255",
            "172.16.0.0",
            "172.31.255.255",
            "192.0.0.0",
            "192.0.0.255",
            "192.0.2.0",
            "192.0.2.255",
            "192.88.99.0",
            "192.88.99.255",
            "192.168.0.0",
            "192.168.255.255",
            "198.18.0.0",
            "198.19.255.255",
            "198.51.100.0",
            "198.51.100.255",
            "203.0.113.0",
            "203.0.113.255",
            "224.0.0.0",
            "239.255.255.255",
            "240.0.0.0",
            "255.255.255.254",
            "255.255.255.255",
        ],
    );
}

#[test]
fn their_neighbours_are_public() {
    assert_all(
        true,
        &[
            "1.0.0.0",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "168.63.129.15",
            "168.63.129.17",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "191.255.255.255",
            "192.0.1.0",
            "192.0.1.255",
            "192.0.3.0",
            "192.88.98.255",
            "192.88.100.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "198.51.99.255",
            "198.51.101.0",
            "203.0.112.255",
            "203.0.114.0",
            "223.255.255.255",
        ],
    );
}

#[test]
fn ipv6_is_public_where_it_is_global_unicast() {
    assert_all(
        true,
        &[
            "2000::",
            "2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
            "2001:200::",
            "2001:4860:4860::8888",
            "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff",
            "2001:db9::",
            "2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
            "2003::",
            "2606:4700::1111",
            "2a00:1450::1",
            "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
            "3fff:1000::",
            "3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        ],
    );
}

#[test]
fn the_ends_of_what_is_not_public_in_ipv6() {
    assert_all(
        false,
        &[
            // Unspecified, loopback, and IPv4: compatible, mapped, translated, both kinds of NAT64.
            "::",
            "::1",
            "::2",
            "::7f00:1",
            "::127.0.0.1",
            "::8.8.8.8",
            "::ffff:0.0.0.0",
            "::ffff:127.0.0.1",
            "::ffff:8.8.8.8",
            "::ffff:255.255.255.255",
            "::ffff:0:127.0.0.1",
            "64:ff9b::",
            "64:ff9b::127.0.0.1",
            "64:ff9b::8.8.8.8",
            "64:ff9b::ffff:ffff",
            "64:ff9b:1::",
            "64:ff9b:1:ffff:ffff:ffff:ffff:ffff",
            // Discarded, and unassigned.
            "100::",
            "100::ffff:ffff:ffff:ffff",
            "100:0:0:1::",
            "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
            "4000::",
            "5f00::",
            "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
            "8000::",
            "fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
            // Protocol assignments: Teredo, benchmarks, ORCHID.
            "2001::",
            "2001::7f00:1",
            "2001:0:ffff:ffff:ffff:ffff:ffff:ffff",
            "2001:2::",
            "2001:10::",
            "2001:20::",
            "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff",
            // Documentation.
            "2001:db8::",
            "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
            "3fff::",
            "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff",
            // 6to4.
            "2002::",
            "2002:7f00:1::",
            "2002:808:808::",
            "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
            // Unique local, link-local, site-local, multicast.
            "fc00::",
            "fd00:ec2::254",
            "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
            "fe00::",
            "fe80::",
            "fe80::1",
            "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
            "fec0::",
            "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
            "ff00::",
            "ff02::1",
            "ff0e::1",
            "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        ],
    );
}
