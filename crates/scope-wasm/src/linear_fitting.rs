//! A linear fit made on the spot, from fresh records of the problem's own solver.

use std::path::Path;

use scope::{
    PosteriorOptions, Recovery,
    eval::PosteriorMethod,
    linear::{self, FitOptions, FitProgress, FreshRecords, LinearPrior},
    pde::{Identity, Pde, Split},
};
use wasm_bindgen::prelude::*;

use crate::{Method, record::SEED};

/// Records that a fit is made from, as they are solved for: other ones than those that are shown.
#[wasm_bindgen]
pub struct LinearFitting(FreshRecords);

#[wasm_bindgen]
impl LinearFitting {
    /// None as yet, on `size` x `size` points, with room for so many.
    #[wasm_bindgen(constructor)]
    pub fn new(pde: &str, size: usize, records: usize) -> Result<LinearFitting, JsError> {
        let pde: Pde = pde.parse()?;
        let identity = Identity { pde, seed: SEED, split: Split::Train, resolution: size };
        Ok(Self(FreshRecords::with_capacity(identity, records)?))
    }

    /// Solves for one more.
    pub fn solve_next(&mut self) -> Result<(), JsError> {
        Ok(self.0.solve_next()?)
    }

    /// Fits so many modes to them: the bytes of a file, which a worker that needs less memory can read.
    pub fn fit(self, modes: usize) -> Result<Vec<u8>, JsError> {
        let fit = self.0.fit(FitOptions { modes }, &FitProgress(&|_, _, _| true))?;
        fit.to_bytes().map_err(|problem| JsError::new(&problem))
    }
}

/// A fit, from which methods are made.
#[wasm_bindgen]
pub struct LinearFit(PosteriorMethod);

#[wasm_bindgen]
impl LinearFit {
    /// Reads the bytes of a file.
    pub fn of_bytes(bytes: &[u8]) -> Result<LinearFit, JsError> {
        let fit = linear::LinearFit::parse(Path::new("the linear fit"), bytes)?;
        Ok(Self(PosteriorMethod::linear(LinearPrior::new(fit))))
    }

    /// The best linear estimate, with the standard deviation of every pixel if that is asked for, which takes most of
    /// the time.
    pub fn method(&self, deviations: bool) -> Method {
        let options = PosteriorOptions { deviations, ..PosteriorOptions::default() };
        Method::of_posterior(Recovery::with_posterior(self.0.clone(), options))
    }
}
