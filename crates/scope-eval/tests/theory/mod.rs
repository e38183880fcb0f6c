//! The paper's analytic statements, computed: expectations by enumerating a discrete law, minimisers by solving or by
//! search, each from its definition. A file holds one idea.

mod arithmetic;
mod displacement;
mod elliptic;
mod equality;
mod fitting;
mod grouping;
mod information;
mod latent_mean;
mod law;
mod margin;
mod recoverable;
mod risk;
mod search;
mod teacher;
mod transfer;
mod weighting;

/// How closely two computations of one number agree.
const CLOSE: f64 = 1e-10;

#[track_caller]
fn assert_close(left: f64, right: f64) {
    assert!((left - right).abs() <= CLOSE * (1.0 + left.abs().max(right.abs())), "{left} is not {right}");
}

#[track_caller]
fn assert_at_most(left: f64, right: f64) {
    assert!(left <= right + CLOSE * (1.0 + left.abs().max(right.abs())), "{left} is more than {right}");
}
