//! Every count of the paper's table "Parameter accounting", and of the presets.

use scope_model::{Accounting, Head, Preset};

fn count(preset: Preset, head: Option<Head>) -> Accounting {
    Accounting::of(&preset.config(128), head).unwrap()
}

#[test]
fn the_base_model_has_the_papers_counts() {
    let base = count(Preset::Base, None);
    assert_eq!(base.encoder, 38_157_952);
    assert_eq!(base.predictor, 1_711_488);
    assert_eq!(base.conditioner, 384);
    assert_eq!(base.decoder, 171_010);
    assert_eq!(base.online(), 40_040_834);
    assert_eq!(base.backbone(), 39_869_824);
    assert_eq!(base.stored_state(), 78_027_776);
}

#[test]
fn the_heads_have_the_papers_counts_and_shares() {
    let expected = [
        (Head::M1, 1_000_194, 40_870_018),
        (Head::M5, 5_003_170, 44_872_994),
        (Head::M10, 10_010_658, 49_880_482),
        (Head::M15, 15_018_218, 54_888_042),
    ];
    for (head, parameters, total) in expected {
        let counted = count(Preset::Base, Some(head));
        assert_eq!(counted.head, Some((head, parameters)));
        assert_eq!(counted.backbone() + parameters, total);
    }
    let share = |head: f64, total: f64| (10_000.0 * head / total).round() / 100.0;
    assert_eq!(share(5_003_170.0, 44_872_994.0), 11.15);
    assert_eq!(share(10_010_658.0, 49_880_482.0), 20.07);
    assert_eq!(share(15_018_218.0, 54_888_042.0), 27.36);
}

#[test]
fn the_small_model_has_its_count() {
    let small = count(Preset::Small, None);
    assert_eq!(small.online(), 6_786_178);
    let base = count(Preset::Base, None);
    assert_eq!((small.predictor, small.decoder), (base.predictor, base.decoder));
}

#[test]
fn only_positions_depend_on_the_resolution() {
    let [at_64, at_128] = [64, 128].map(|size| Accounting::of(&Preset::Base.config(size), None).unwrap());
    assert_eq!(at_128.online() - at_64.online(), (256 - 64) * (512 + 256));
}

#[test]
fn hidden_matrices_are_those_of_blocks_and_between_the_decoders_layers() {
    let device = scope_engine::Device::cpu(1);
    let model = scope_model::Model::zeros(Preset::Small.config(32), &device).unwrap();
    let layout = model.params.layout().clone();
    for param in layout.params() {
        let in_block = param.name.contains(".blocks.") && param.shape.len() == 2;
        let expected = match param.name.as_str() {
            name if in_block && name.ends_with("qkv.weight") => 3,
            "decoder.mlp.1.weight" => 1,
            _ => usize::from(in_block),
        };
        assert_eq!(param.hidden, expected, "{}", param.name);
    }
    let blocks = layout.params().iter().filter(|param| param.name.ends_with("qkv.weight")).count();
    let hidden: usize = layout.params().iter().map(|param| param.hidden).sum();
    assert_eq!(hidden, 6 * blocks + 1);
}
