//! The mark of a layout, by which a view that was stored is known to be of this release.

/// The mark of a view that has these fields, as `outline` lists them: the same in every build. `revision` goes up when a
/// release shows the view otherwise though its fields are the same.
///
/// A stored view begins with its mark. One with another mark is passed over, and its record is read instead.
pub fn layout_mark(revision: u64, outline: &str) -> String {
    // FNV-1a.
    let mark = outline.bytes().fold(0xcbf2_9ce4_8422_2325 ^ revision, |mark, byte| {
        (mark ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{mark:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_distinguishes_layouts() {
        let mark = layout_mark(1, "id name");
        assert_eq!(mark.len(), 16);
        assert_eq!(mark, layout_mark(1, "id name"));
        assert_ne!(mark, layout_mark(2, "id name"));
        assert_ne!(mark, layout_mark(1, "id name email"));
    }
}
