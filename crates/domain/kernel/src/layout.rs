//! Marks of layouts, by which a stored view is known to come from this release.

/// Returns the mark of a view that has the fields of `outline`; it is the same in every build. Raise `revision` when a release
/// shows the view differently though its fields are the same.
///
/// A stored view begins with its mark. A view with another mark is ignored, and its record is read instead.
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
