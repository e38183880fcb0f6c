//! What the page has to know of the five problems.

use scope::{
    data::observation::Family,
    pde::{Pde, descriptor::FieldKind},
};
use serde_json::{Value, json};
use wasm_bindgen::prelude::*;

/// The problems and the mask families, as JSON.
#[wasm_bindgen]
pub fn problems() -> String {
    let families: Vec<Value> = Family::ALL
        .iter()
        .map(|family| {
            let any_budget = family.descriptor().any_budget;
            json!({ "name": family.name(), "budgets": family.budgets(), "any_budget": any_budget })
        })
        .collect();
    let problems: Vec<Value> = Pde::ALL.iter().map(|pde| entry(*pde)).collect();
    json!({ "problems": problems, "families": families }).to_string()
}

fn entry(pde: Pde) -> Value {
    let descriptor = pde.descriptor();
    let fields = descriptor.fields.map(|field| match field.kind {
        FieldKind::TwoValued { .. } => json!({ "name": field.name, "threshold": field.threshold() }),
        _ => json!({ "name": field.name }),
    });
    json!({
        "name": pde.name(),
        "title": pde.title(),
        "fields": { "a": fields.a, "u": fields.u },
        "has_exact": scope::Recovery::exact(pde, 32, Default::default()).is_ok(),
    })
}
