//! Kernels as letters, and the rows and sizes from their positions.

use super::*;
use crate::perf::model_config::parse;

/// Two double-stream and two single-stream blocks, hidden size 8: 64 image tokens, 16 text tokens.
const MODEL: &str = r#"{"_class_name": "FluxTransformer2DModel", "num_layers": 2, "num_single_layers": 2,
    "num_attention_heads": 2, "attention_head_dim": 4, "joint_attention_dim": 4096, "in_channels": 64}"#;
const TOKENS: ImageTokens = ImageTokens {
    batch: 1,
    image: 64,
    text: 16,
};

/// Kernels as letters: I and T GEMMs of image and text, B of both, m of the modulation, a attention, g activation. M is
/// a modulation whose tile is only known to be smaller than the others.
fn places(kernels: &str, model: &str) -> String {
    let (name, ns, side) = (0, 10, Some(64));
    let kernel = |letter: char| {
        let (step, name, ns, side) = match letter {
            'I' => (Step::Gemm, 1, 40, side),
            'T' => (Step::Gemm, 2, 15, side),
            // The kernel of the image, used for the text.
            't' => (Step::Gemm, 1, 15, side),
            'B' => (Step::Gemm, 3, 50, side),
            'm' => (Step::Gemm, 4, ns, Some(16)),
            'M' => (Step::Gemm, 5, ns, Some(32)),
            'a' => (Step::Attention, name, ns, None),
            _ => (Step::Activation, name, ns, None),
        };
        let activates = letter == 'g';
        Kernel {
            step,
            name,
            ns,
            activates,
            side,
        }
    };
    let kernels: Vec<Kernel> = kernels
        .chars()
        .filter(|one| *one != ' ')
        .map(kernel)
        .collect();
    let config = parse(model).unwrap();
    let all = assign(&kernels, config.diffusion().unwrap(), TOKENS);
    let gemms = all
        .iter()
        .zip(&kernels)
        .filter(|(_, one)| one.step == Step::Gemm);
    let texts = gemms.map(|(place, _)| match place {
        Some(place) => format!(
            "{}{}x{}",
            match place.rows {
                Rows::Conditioning => "c",
                Rows::Image => "i",
                Rows::Text => "t",
                Rows::Both => "b",
            },
            place.matrix.n,
            place.matrix.k
        ),
        None => "-".to_owned(),
    });
    texts.collect::<Vec<String>>().join(" ")
}

const INPUTS: &str = "i8x8 i8x8 i8x8 t8x8 t8x8 t8x8";

/// Compiled order: the text may come first, and the MLP of single-stream blocks follows attention.
#[test]
fn blocks_as_they_are_compiled() {
    let kernels = "mmIT mm TITITI a IT mIgI mTgT TITITI a IT m TgT IgI BBB a mBgB BBB a mBgBI";
    let inputs = "t8x8 i8x8 t8x8 i8x8 t8x8 i8x8";
    let expected = format!(
        "- - - - c48x8 c48x8 {inputs} i8x8 t8x8 c48x8 i32x8 i8x32 c48x8 t32x8 t8x32 {inputs} \
         i8x8 t8x8 c24x8 t32x8 t8x32 i32x8 i8x32 b8x8 b8x8 b8x8 c24x8 b32x8 b8x40 b8x8 b8x8 b8x8 \
         c16x8 b32x8 b8x40 -"
    );
    assert_eq!(places(kernels, MODEL), expected);
}

/// Sequential order: the MLP of single-stream blocks precedes attention.
#[test]
fn blocks_as_they_are_written() {
    let kernels =
        "mmIT mm IIITTT a IT IgI TgT mm IIITTT a IT IgI TgT m Bg BBB a B m Bg BBB a B m I";
    let expected = format!(
        "- - - - c48x8 c48x8 {INPUTS} i8x8 t8x8 i32x8 i8x32 t32x8 t8x32 c48x8 c48x8 {INPUTS} \
         i8x8 t8x8 i32x8 i8x32 t32x8 t8x32 c24x8 b32x8 b8x8 b8x8 b8x8 b8x40 c24x8 b32x8 b8x8 b8x8 b8x8 \
         b8x40 c16x8 -"
    );
    assert_eq!(places(kernels, MODEL), expected);
    // Interleaved MLPs, and one kernel for both streams.
    let turns = kernels.replace("IT IgI TgT", "IT IT gg IT");
    let mlps = "i8x8 t8x8 i32x8 i8x32 t32x8 t8x32";
    let in_turn = "i8x8 t8x8 i32x8 t32x8 i8x32 t8x32";
    assert_eq!(places(&turns, MODEL), expected.replace(mlps, in_turn));
    assert_eq!(places(&kernels.replace('T', "t"), MODEL), expected);
}

/// Q, K and V in one GEMM; in single-stream blocks, together with the MLP.
#[test]
fn blocks_of_fused_projections() {
    let fused = "IT mm IT a IT IgI TgT mm IT a IT IgI TgT m B a gB m B a gB m I";
    let expected = "- - c48x8 c48x8 i24x8 t24x8 i8x8 t8x8 i32x8 i8x32 t32x8 t8x32 c48x8 c48x8 i24x8 t24x8 \
         i8x8 t8x8 i32x8 i8x32 t32x8 t8x32 c24x8 b56x8 b8x40 c24x8 b56x8 b8x40 c16x8 -";
    assert_eq!(places(fused, MODEL), expected);
}

/// In the last block only the image stream continues, and the modulation of the text has fewer columns there.
#[test]
fn a_model_without_blocks_of_one_stream() {
    let model = MODEL
        .replace("Flux", "SD3")
        .replace(r#""num_single_layers": 2,"#, "");
    let kernels = "IT mm IIITTT a IT IgI TgT mm IIITTT a I IgI m I";
    let expected = format!(
        "- - - - {INPUTS} i8x8 t8x8 i32x8 i8x32 t32x8 t8x32 - - {INPUTS} i8x8 i32x8 i8x32 c16x8 -"
    );
    assert_eq!(places(kernels, &model), expected);
}

#[test]
fn where_order_does_not_tell_nothing_is_said() {
    let kernels = "IT mm IIITTT a IT IgI TgT mm IIITTT a IT IgI TgT m BBB a mBgB BBB a mBgBI";
    let n_known = |kernels: &str| {
        let places = places(kernels, MODEL);
        places.split(' ').filter(|one| *one != "-").count()
    };
    assert_eq!(n_known(kernels), 41);
    // Tiles that are merely smaller than others also work, if there are as many as expected.
    assert_eq!(n_known(&kernels.replace("TgT mm", "TgT MM")), 39);
    // Both streams take equally long, so they cannot be distinguished.
    let alike = kernels.replace('T', "I");
    assert_eq!(n_known(&alike), 17);
    // An extra GEMM between two blocks, and no activations.
    assert_eq!(n_known(&kernels.replace("BBB a", "BBBB a")), 22);
    assert_eq!(n_known(&kernels.replace('g', "")), 0);
}
