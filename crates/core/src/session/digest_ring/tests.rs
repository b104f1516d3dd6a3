use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;

proptest! {
    /// Digests that share a class are told apart, also by a ring that was written down and read again.
    #[test]
    fn it_holds_the_last_ones_and_no_others(pushed in prop::collection::vec(0u64..40, 0..200), most in 1usize..20) {
        let digest = |n: u64| Digest(n / 2 + n % 2 * CLASSES as u64);
        let (mut recent, mut plain) = (DigestRing::default(), VecDeque::new());
        for n in pushed {
            let gone = recent.push(digest(n), most);
            plain.push_back(digest(n));
            let expected = if plain.len() > most { plain.pop_front() } else { None };
            prop_assert_eq!(gone, expected);
            for n in 0..40 {
                prop_assert_eq!(recent.contains(digest(n)), plain.contains(&digest(n)));
            }
            let json = serde_json::to_string(&recent).unwrap();
            prop_assert_eq!(&json, &serde_json::to_string(&plain).unwrap());
            recent = serde_json::from_str(&json).unwrap();
        }
    }
}
