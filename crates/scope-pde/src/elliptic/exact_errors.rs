//! What the exact posterior of Poisson and Helmholtz has been measured to have.
//!
//! Those of 500 sensors are from docs/exact.md; the others by `scope evaluate --method exact --pde PDE --protocol few`
//! on 100 records of `scope data generate PDE --split test --seed 20261118`.

use crate::descriptor::ExactErrors;

pub(super) const POISSON: [ExactErrors; 17] = [
    ExactErrors::of("forward/uniform/5", 100, 67.3, 57.8),
    ExactErrors::of("forward/uniform/10", 100, 53.5, 41.43),
    ExactErrors::of("forward/uniform/20", 100, 40.4, 26.66),
    ExactErrors::of("forward/uniform/50", 100, 25.2, 12.62),
    ExactErrors::of("forward/uniform/100", 100, 17.4, 6.81),
    ExactErrors::of("forward/uniform/500", 1000, 7.65, 1.5),
    ExactErrors::of("inverse/uniform/5", 100, 59.3, 38.99),
    ExactErrors::of("inverse/uniform/10", 100, 43.8, 18.51),
    ExactErrors::of("inverse/uniform/20", 100, 30.4, 8.13),
    ExactErrors::of("inverse/uniform/50", 100, 18.9, 2.63),
    ExactErrors::of("inverse/uniform/100", 100, 12.7, 0.97),
    ExactErrors::of("inverse/uniform/500", 1000, 5.56, 0.098),
    ExactErrors::of("joint/uniform/5", 100, 46.1, 26.17),
    ExactErrors::of("joint/uniform/10", 100, 33.8, 12.7),
    ExactErrors::of("joint/uniform/20", 100, 23.2, 5.26),
    ExactErrors::of("joint/uniform/50", 100, 13.9, 1.48),
    ExactErrors::of("joint/uniform/100", 100, 9.7, 0.57),
];

pub(super) const HELMHOLTZ: [ExactErrors; 17] = [
    ExactErrors::of("forward/uniform/5", 100, 70.2, 65.56),
    ExactErrors::of("forward/uniform/10", 100, 56.8, 49.83),
    ExactErrors::of("forward/uniform/20", 100, 42.0, 28.34),
    ExactErrors::of("forward/uniform/50", 100, 26.8, 12.77),
    ExactErrors::of("forward/uniform/100", 100, 18.6, 6.9),
    ExactErrors::of("forward/uniform/500", 1000, 7.65, 1.5),
    ExactErrors::of("inverse/uniform/5", 100, 62.4, 43.96),
    ExactErrors::of("inverse/uniform/10", 100, 43.8, 21.33),
    ExactErrors::of("inverse/uniform/20", 100, 31.8, 9.57),
    ExactErrors::of("inverse/uniform/50", 100, 19.2, 2.75),
    ExactErrors::of("inverse/uniform/100", 100, 13.0, 0.99),
    ExactErrors::of("inverse/uniform/500", 1000, 5.3, 0.094),
    ExactErrors::of("joint/uniform/5", 100, 48.8, 28.86),
    ExactErrors::of("joint/uniform/10", 100, 34.8, 14.35),
    ExactErrors::of("joint/uniform/20", 100, 24.2, 5.89),
    ExactErrors::of("joint/uniform/50", 100, 14.8, 1.64),
    ExactErrors::of("joint/uniform/100", 100, 10.1, 0.62),
];
