//! One parity case: what it holds, and what must agree.

mod file;
mod parameters;

use std::collections::HashMap;

use scope_data::{Constants, PerChannel};
use scope_engine::{Device, Dtype, Gradients, Layout, Param, Tape, Tensor};
use scope_model::{DecoderConfig, Model, ModelConfig, View};
use scope_train::{Component, Examples, Objective, Rates, StepReport, Trainer, loss_weights};

pub(crate) use file::{Case, cases};

/// Where a case is run, and how closely it must agree.
#[derive(Clone)]
pub(crate) struct Setting {
    pub(crate) device: Device,
    pub(crate) precision: Dtype,
    /// Relative L2 error of activations, and relative error of losses.
    pub(crate) values: f64,
    /// Relative L2 error of the gradient of all parameters together.
    pub(crate) whole: f64,
    /// Relative L2 error of a tensor's gradient, relative error of norms and factors.
    pub(crate) gradients: f64,
}

impl Setting {
    /// Whether parameters after a step are compared. With coarser products the sign of a small gradient, and so a first
    /// update, may be another.
    fn compares_updates(&self) -> bool {
        self.precision == Dtype::F32 && matches!(self.device, Device::Cpu(_))
    }
}

/// Some gradients vanish in theory (a bias that every sample shares does not change their spread), and only
/// rounding is left of them: what is apart by less than this share of the limit, measured against the whole
/// gradient, agrees.
const ROUNDING: f64 = 1e-2;
/// The first steps of AdamW are nearly sign steps: an update is compared, to this share of the learning rate,
/// where the gradient is above [`DECIDED`].
const UPDATES: f64 = 0.05;
const DECIDED: f32 = 1e-6;
/// The scale of zero targets that the released cylinder data have.
const ZERO_SCALE: PerChannel<f64> = PerChannel { a: 2.070_225_306_780_491, u: 3.349_598_784_012_081_3 };

impl Case {
    /// Compares everything the case holds, and fails if anything was left out.
    pub(crate) fn check(&self, setting: &Setting) {
        let device = &setting.device;
        let mut model = Model::zeros(self.config(), device).unwrap();
        let flat = self.parameters(model.params.layout(), "");
        model.params.set_flat(Tensor::from_slice(device, &[flat.len()], &flat).unwrap()).unwrap();
        let examples = self.examples(device, &model.config);
        match self.text("recipe") {
            "sp" => self.check_head(model, &examples, setting),
            recipe => self.check_stage(model, &examples, objective_of(recipe), setting),
        }
        self.require_all_used(setting.compares_updates());
    }

    fn check_stage(&self, model: Model, examples: &Examples, objective: Objective, setting: &Setting) {
        let pixels = model.config.resolution.points();
        let mut trainer = Trainer::scope(model, objective).unwrap();
        trainer.precision = setting.precision;
        if let Some(teacher) = &mut trainer.teacher {
            let flat = self.parameters(teacher.layout(), "teacher");
            teacher.set_flat(Tensor::from_slice(teacher.device(), &[flat.len()], &flat).unwrap()).unwrap();
        }
        let components = self.check_pass(&trainer, examples, pixels, setting);
        let mut measured = None;
        let rate = self.number("lr").unwrap();
        for step in 1..=self.number("steps").unwrap_or(1.0) as u64 {
            let rates = Rates { learning_rate: rate, ema_momentum: self.number("tau").unwrap_or(1.0) };
            let now = trainer.step(examples, rates).unwrap().read().unwrap();
            if step > 1 {
                self.compare_number(
                    &format!("L_F_step{step}"),
                    now.losses[&Component::Field],
                    setting.gradients,
                );
            }
            measured.get_or_insert(now);
        }
        let measured = measured.unwrap();
        self.compare_measured(&measured, setting.gradients);
        let combined = components.combined(measured.alpha as f32);
        let clip = (1.0 / (measured.norm + 1e-6)).min(1.0) as f32;
        let clipped: Vec<f32> = combined.iter().map(|x| clip * x).collect();
        self.compare_gradients(trainer.params.layout(), "grad", &clipped, setting);
        if setting.compares_updates() {
            self.compare_after(trainer.params.layout(), trainer.params.flat(), &combined, rate);
        }
        if let Some(teacher) = &trainer.teacher {
            self.compare_teacher(teacher.layout(), teacher.flat(), setting.values);
        }
    }

    /// Activations, losses and each component's gradient.
    fn check_pass(
        &self,
        trainer: &Trainer,
        examples: &Examples,
        pixels: usize,
        setting: &Setting,
    ) -> Components {
        let tape = Tape::recording_in(&trainer.params, setting.precision).unwrap();
        let objective = &trainer.objective;
        let pass = trainer.forward(&tape, examples).unwrap();
        let value = |var: &Option<scope_engine::Var>| var.as_ref().map(|var| var.value().to_vec().unwrap());
        let target = pass.target.as_ref().map(|target| target.to_vec().unwrap());
        let physical = value(&pass.fields).map(|fields| physical(&fields, pixels, &self.constants()));
        let named = [
            ("z_M", value(&pass.predicted)),
            ("x_M", value(&pass.fields)),
            ("z_F", value(&pass.complete)),
            ("x_F", value(&pass.grounded)),
            ("zbar", target),
            ("phys_M", physical),
        ];
        for (name, ours) in named {
            if let Some(ours) = ours {
                self.compare_tensor(name, &ours, setting.values);
            }
        }
        let mut components = Components { field: Vec::new(), others: Vec::new() };
        for (component, loss) in pass.losses(&tape, examples, objective).unwrap().0 {
            let letter = component.letter();
            let value = f64::from(loss.value().to_vec::<f32>().unwrap()[0]);
            self.compare_number(&format!("L_{letter}"), value, setting.values);
            let mut gradients = Gradients::zeros(&trainer.params).unwrap();
            tape.backward(&[(&loss, objective.weight(component))], &mut gradients).unwrap();
            let flat = gradients.flat().to_vec::<f32>().unwrap();
            self.compare_gradients(trainer.params.layout(), &format!("grad_{letter}"), &flat, setting);
            match component {
                Component::Field => components.field = flat,
                _ => components.others.push(flat),
            }
        }
        components
    }

    fn compare_measured(&self, measured: &StepReport, limit: f64) {
        for (component, [all, encoder]) in &measured.norms {
            let letter = component.letter();
            self.compare_number(&format!("n_{letter}_all"), *all, limit);
            self.compare_number(&format!("n_{letter}_enc"), *encoder, limit);
        }
        self.compare_number("alpha", measured.alpha, limit);
        self.compare_number("combined_norm_before_clip", measured.norm, limit);
        self.compare_number("g_norm", measured.norm, limit);
    }

    /// SP adaptation: the context path is frozen, a new head learns.
    fn check_head(&self, backbone: Model, examples: &Examples, setting: &Setting) {
        let sizes: Vec<usize> = serde_json::from_value(self.scalars["sp"].clone()).unwrap();
        let widths = DecoderConfig { mlp: vec![sizes[0]; 3], conv: vec![sizes[1]; 4] };
        let tape = Tape::inference(&backbone.params, setting.precision);
        let latents = backbone.network.predict(&tape, &tape.input(examples.contexts.clone())).unwrap();
        self.compare_tensor("z_M", &latents.value().to_vec::<f32>().unwrap(), setting.values);
        let mut head = Trainer::head(backbone, widths, View::Sparse, 1).unwrap();
        head.precision = setting.precision;
        let flat = self.parameters(head.params.layout(), "");
        head.params.set_flat(Tensor::from_slice(head.device(), &[flat.len()], &flat).unwrap()).unwrap();
        let tape = Tape::inference(&head.params, setting.precision);
        let fields = head.forward(&tape, examples).unwrap().fields.unwrap();
        self.compare_tensor("x_M", &fields.value().to_vec::<f32>().unwrap(), setting.values);
        let rate = self.number("lr").unwrap();
        let rates = Rates { learning_rate: rate, ema_momentum: 1.0 };
        let measured = head.step(examples, rates).unwrap().read().unwrap();
        self.compare_number("L_F", measured.losses[&Component::Field], setting.values);
        self.compare_measured(&measured, setting.gradients);
        let gradient = head.moments.first.to_vec::<f32>().unwrap();
        if setting.compares_updates() {
            self.compare_after(head.params.layout(), head.params.flat(), &gradient, rate);
        }
    }

    fn examples(&self, device: &Device, config: &ModelConfig) -> Examples {
        let size = config.resolution;
        let pixels = config.resolution.points();
        let fields = self.tensor("x").unwrap();
        let contexts = self.contexts(pixels);
        let zero = self.bytes("zero").unwrap_or_else(|| vec![0; fields.len() / pixels]);
        let constants = self.constants();
        let weights: Vec<f32> = fields
            .chunks(2 * pixels)
            .zip(zero.chunks(2))
            .flat_map(|(pair, zero)| {
                let (a, u) = pair.split_at(pixels);
                let zero = PerChannel { a: zero[0] > 0, u: zero[1] > 0 };
                loss_weights(&constants, PerChannel { a, u }, zero, ZERO_SCALE)
            })
            .collect();
        Examples::new(device, size, &fields, &contexts, &weights).unwrap()
    }

    fn compare_gradients(&self, layout: &Layout, kind: &str, flat: &[f32], setting: &Setting) {
        let limit = setting.gradients;
        let whole = flat.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
        let apart =
            |param: &Param| self.distance(&format!("{kind}/{}", param.name), &flat[param.range.clone()]);
        let together = layout.params().iter().filter_map(apart).map(|d| d * d).sum::<f64>().sqrt();
        // The spread over a batch is a small difference of rounded latents.
        let most = if kind == "grad_V" { 1.5 * setting.whole } else { setting.whole };
        let case = &self.name;
        let share = together / whole;
        // A component that is not active has no gradient, and both sides are zero.
        assert!(
            together <= most * whole,
            "{case}: {kind}: {share:.1e} of the whole gradient, at most {most:.1e}"
        );
        for param in layout.params() {
            let name = format!("{kind}/{}", param.name);
            if self.distance(&name, &flat[param.range.clone()]).is_some_and(|d| d > ROUNDING * limit * whole)
            {
                self.compare_tensor(&name, &flat[param.range.clone()], limit);
            }
        }
    }

    fn compare_after(&self, layout: &Layout, flat: &Tensor, gradient: &[f32], rate: f64) {
        let flat = flat.to_vec::<f32>().unwrap();
        for param in layout.params() {
            let Some(expected) = self.tensor(&format!("after/{}", param.name)) else { continue };
            let ours = &flat[param.range.clone()];
            let every = self.every(&param.name, ours.len(), expected.len());
            let gradient = gradient[param.range.clone()].iter().step_by(every);
            for ((ours, expected), gradient) in ours.iter().step_by(every).zip(&expected).zip(gradient) {
                let decided = gradient.abs() > DECIDED;
                let apart = f64::from((ours - expected).abs());
                assert!(
                    !decided || apart <= UPDATES * rate,
                    "{}: {}: {ours} and {expected}",
                    self.name,
                    param.name
                );
            }
        }
        self.compare_checks(layout, &flat, gradient, rate);
    }

    /// The teacher's names carry no prefix.
    fn compare_teacher(&self, layout: &Layout, flat: &Tensor, limit: f64) {
        let flat = flat.to_vec::<f32>().unwrap();
        for param in layout.params() {
            let short = param.name.strip_prefix("encoder.").unwrap();
            self.compare_tensor(&format!("after/teacher.{short}"), &flat[param.range.clone()], limit);
        }
    }
}

/// The gradients of a pass.
struct Components {
    field: Vec<f32>,
    others: Vec<Vec<f32>>,
}

impl Components {
    fn combined(&self, alpha: f32) -> Vec<f32> {
        let mut sum =
            if self.field.is_empty() { vec![0.0; self.others[0].len()] } else { self.field.clone() };
        for other in &self.others {
            sum.iter_mut().zip(other).for_each(|(sum, other)| *sum += alpha * other);
        }
        sum
    }
}

fn objective_of(recipe: &str) -> Objective {
    let known = HashMap::from([
        ("full", Objective::FULL),
        ("fjv", Objective::FJV),
        ("fo", Objective::FO),
        ("fg", Objective::FG),
        ("fjvg", Objective::FJVG),
        ("pretrain", Objective::PRETRAIN),
    ]);
    assert!(known.contains_key(recipe), "the recipe \"{recipe}\" is not known");
    known[recipe]
}

/// Stored coordinates \[batch, 2, pixels\] to physical units.
fn physical(fields: &[f32], pixels: usize, constants: &Constants) -> Vec<f32> {
    let scalings = [constants.a, constants.u];
    fields.iter().enumerate().map(|(k, x)| scalings[k / pixels % 2].physical(*x) as f32).collect()
}
