//! Resource versions: decimal numbers of any length, which compare as numbers.
//!
//! Kubernetes says so since 1.35 (KEP-5504); before, they were opaque by the
//! letter and etcd's revisions in practice. A version of another shape, as an
//! aggregated API may have, compares with nothing.

use std::cmp::Ordering;

/// A version that compares: digits without leading zeros.
pub(super) fn comparable(version: &str) -> Option<&str> {
    let digits = !version.is_empty() && version.bytes().all(|octet| octet.is_ascii_digit());
    digits.then(|| version.trim_start_matches('0'))
}

/// Compares two versions; `None` where one of them isn't a number.
pub(super) fn compare(one: &str, other: &str) -> Option<Ordering> {
    let (one, other) = (comparable(one)?, comparable(other)?);
    Some(one.len().cmp(&other.len()).then_with(|| one.cmp(other)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_as_numbers_of_any_length() {
        assert_eq!(compare("9", "10"), Some(Ordering::Less));
        assert_eq!(compare("0010", "10"), Some(Ordering::Equal));
        assert_eq!(compare("0", "00"), Some(Ordering::Equal));
        let long = "1".repeat(40);
        assert_eq!(compare(&format!("{long}1"), &long), Some(Ordering::Greater));
        for opaque in ["", "a", "-1", "1.2", "1 "] {
            assert_eq!(compare(opaque, "1"), None, "{opaque}");
        }
    }
}
