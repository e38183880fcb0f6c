//! What happens on a machine with a card, and on one without.
#![allow(clippy::unwrap_used)]

use scope_engine::{Device, EngineError, selftest};

#[test]
fn a_card_agrees_with_the_processor_or_what_is_missing_is_said() {
    match Device::cuda(0) {
        Ok(card) => {
            let checks = selftest::run(&card, "").unwrap();
            assert!(checks.len() > 100);
            let failed: Vec<_> = checks.into_iter().filter(|check| !check.passed()).collect();
            assert!(failed.is_empty(), "{failed:?}");
        }
        Err(error) => {
            assert!(matches!(error, EngineError::Unavailable { .. }), "{error}");
            let text = error.to_string();
            assert!(text.starts_with("CUDA cannot be used: ") && text.contains("--device cpu"), "{text}");
        }
    }
}
