use super::modules::has_word;
use super::*;
use crate::testing::Timetable;

#[test]
fn modules_and_shapes_tell_the_model() {
    let mut timetable = Timetable::new();
    for layer in 0..3 {
        let from = f64::from(layer) * 100.0;
        timetable = timetable
            .frame(&format!("nn.Module: Qwen2DecoderLayer_{layer}"), from..from + 90.0)
            .frame(&format!("nn.Module: Qwen2MLP_{layer}"), from + 1.0..from + 80.0)
            .frame(&format!("nn.Module: Linear_{layer}"), from + 2.0..from + 70.0)
            .op("aten::mm", from + 3.0..from + 60.0)
            .args(r#""Input Dims": [[64, 1024], [1024, 2816]], "Input type": ["c10::BFloat16", "c10::BFloat16"]"#)
            .launch(layer as u32 + 1, from + 4.0..from + 5.0);
    }
    for layer in 0..3_u32 {
        let from = 1000.0 + f64::from(layer) * 10.0;
        timetable = timetable.kernel(layer + 1, "gemm", from..from + 5.0);
    }
    let info = ModelInfo::new(&timetable.profile());
    assert_eq!(info.title(), "Qwen2");
    assert_eq!(
        info.model.evidence,
        "2 of its modules start with it, `Qwen2DecoderLayer` among them."
    );
    assert_eq!(info.scale.text(), "3 layers, hidden size 1024");
    assert_eq!(info.precision.text(), "BF16");
    assert_eq!(info.architecture.text(), UNKNOWN);
}

/// Events may be in any order in the file.
#[test]
fn the_outermost_module_is_named_first() {
    let timetable = Timetable::new()
        .frame("nn.Module: BertLayer_0", 10..20)
        .frame("nn.Module: BertEncoder_0", 5..30)
        .frame("nn.Module: BertLMHeadModel_0", 0..40);
    let info = ModelInfo::new(&timetable.profile());
    assert_eq!(
        info.model.evidence,
        "3 of its modules start with it, `BertLMHeadModel` among them."
    );
}

/// Eight of 64 heads with head dimension 128, one GPU's share, with GEMMs of hidden size 8 192.
#[test]
fn heads_that_are_shared_out_are_those_of_a_gpu() {
    let mm = r#""Input Dims": [[64, 8192], [8192, 1024]], "Input type": ["c10::BFloat16", "c10::BFloat16"]"#;
    let attention = r#""Input Dims": [[1, 8, 64, 128], [1, 8, 64, 128], [1, 8, 64, 128], [], [], []], "Input type": ["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "Scalar", "Scalar", ""], "Concrete Inputs": ["", "", "", "0.", "False", "False"]"#;
    let flash = "aten::_scaled_dot_product_flash_attention";
    let profile = Timetable::new()
        .call("aten::mm", mm, "gemm", 100..110)
        .call(flash, attention, "flash_fwd", 110..130)
        .profile();
    let scale = ModelInfo::new(&profile).scale;
    assert_eq!(scale.text(), "hidden size 8192, 8 heads on a GPU");
}

/// The gradients of two weights sum over 4 096 tokens each.
#[test]
fn gemms_of_the_backward_pass_tell_no_hidden_size() {
    let mm = |m: u32, k: u32, n: u32| {
        format!(
            r#""Input Dims": [[{m}, {k}], [{k}, {n}]], "Input type": ["c10::BFloat16", "c10::BFloat16"]"#
        )
    };
    let attention = r#""Input Dims": [[1, 16, 4096, 64], [1, 16, 4096, 64], [1, 16, 4096, 64], [], [], []], "Input type": ["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "Scalar", "Scalar", ""], "Concrete Inputs": ["", "", "", "0.", "False", "False"]"#;
    let flash = "aten::_scaled_dot_product_flash_attention";
    let profile = Timetable::new()
        .op("aten::mm", 0..10)
        .args(&mm(4096, 1024, 3072))
        .launched("gemm", 1..2, 100..110)
        .op(flash, 10..20)
        .args(attention)
        .launched("flash_fwd", 11..12, 110..130)
        .op("autograd::engine::evaluate_function: MmBackward0", 20..60)
        .op("aten::mm", 21..30)
        .args(&mm(1024, 4096, 3072))
        .launched("gemm", 22..23, 130..140)
        .op("aten::mm", 31..40)
        .args(&mm(1024, 4096, 3072))
        .launched("gemm", 32..33, 140..150)
        .profile();
    let scale = ModelInfo::new(&profile).scale;
    assert_eq!(scale.text(), "hidden size 1024, 16 heads");
    let gemms = "1 GEMM of the forward pass has K = 1024";
    assert!(scale.evidence.starts_with(gemms), "{}", scale.evidence);
}

#[test]
fn kernels_tell_packed_weights_experts_and_scans() {
    let info = |kernel: &str| {
        let profile = Timetable::new().launched(kernel, 0..1, 100..110).profile();
        let info = ModelInfo::new(&profile);
        (
            info.precision.text().to_owned(),
            info.architecture.text().to_owned(),
        )
    };
    let moe = "Mixture-of-experts Transformer";
    #[rustfmt::skip]
    let cases = [
        ("_matmul_ogs_NNT_bf16xbf16xmxfp4_128x256x128x1", "BF16, weights in lower precision", moe),
        ("void marlin::Marlin<__nv_bfloat16, 256, 1, 8, 8>", "BF16, weights in lower precision", UNKNOWN),
        ("void deep_ep::internode_ll::dispatch<true, false, 7168>(void*)", UNKNOWN, moe),
        ("_chunk_scan_fwd_kernel", UNKNOWN, "State-space model"),
    ];
    for (kernel, precision, architecture) in cases {
        let expected = (precision.to_owned(), architecture.to_owned());
        assert_eq!(info(kernel), expected, "{kernel}");
    }
}

/// The 512 × 1 000 GEMM is the last layer, whose width is not that of the others.
#[test]
fn a_convolutional_network_has_no_hidden_size() {
    let mut timetable = Timetable::new();
    for block in 0..2_u32 {
        let from = block * 100;
        timetable = timetable
            .frame(&format!("nn.Module: BasicBlock_{block}"), from..from + 50)
            .op("aten::convolution", from + 1..from + 40)
            .launch(block + 1, from + 2..from + 3);
    }
    timetable = timetable
        .op("aten::mm", 200..210)
        .args(r#""Input Dims": [[8, 1000], [1000, 512]], "Input type": ["float", "float"]"#)
        .launch(3, 201..202);
    for kernel in 1..4_u32 {
        let from = 1000 + kernel * 10;
        timetable = timetable.kernel(kernel, "kernel", from..from + 5);
    }
    let info = ModelInfo::new(&timetable.profile());
    assert_eq!(info.architecture.text(), "Convolutional network");
    assert_eq!(info.scale.text(), "2 blocks");
    assert_eq!(info.scale.evidence, "`BasicBlock` has 2 instances.");
}

/// Two encoders with their own layers, and one denoiser module compiled as a whole.
#[test]
fn a_diffusion_model_is_not_called_after_its_prompt_encoders() {
    let profile = Timetable::new()
        .frame("nn.Module: T5EncoderModel_0", 0..10)
        .frame("nn.Module: T5Stack_0", 1..9)
        .frame("nn.Module: CLIPEncoderLayer_0", 10..20)
        .frame("nn.Module: CLIPEncoderLayer_1", 20..30)
        .frame("nn.Module: SD3Transformer2DModel_0", 30..50)
        .op("aten::_scaled_dot_product_flash_attention", 31..40)
        .launched("attn_fwd", 32..33, 100..200)
        .profile();
    let info = ModelInfo::new(&profile);
    assert_eq!(info.architecture.text(), "Diffusion model");
    assert_eq!(info.title(), "SD3");
    assert_eq!(
        info.model.evidence,
        "A module is called `SD3Transformer2DModel`."
    );
    assert_eq!(info.scale.text(), UNKNOWN);
}

/// A run of GEMMs with 10 µs kernels: dims, number of calls, and kernel name.
fn products(products: &[(&str, u32, &str)]) -> ModelInfo {
    let (mut timetable, mut gpu) = (Timetable::new(), 1_000_000);
    for (dims, calls, kernel) in products {
        let args =
            format!(r#""Input Dims": [{dims}], "Input type": ["c10::BFloat16", "c10::BFloat16"]"#);
        let op = match dims.is_empty() {
            true => "my::gemm",
            false => "aten::mm",
        };
        for _ in 0..*calls {
            timetable = timetable.call(op, &args, kernel, gpu..gpu + 10);
            gpu += 10;
        }
    }
    ModelInfo::new(&timetable.profile())
}

/// Gate and up projection of one layer are a single GEMM with 57 344 columns.
#[test]
fn the_widest_product_of_layers_is_no_vocabulary() {
    let gate_up = ("[64, 8192], [8192, 57344]", 16, "gemm");
    let down = ("[64, 28672], [28672, 8192]", 16, "gemm");
    let head = ("[64, 8192], [8192, 32064]", 1, "gemm");
    let scale = |all: &[(&str, u32, &str)]| products(all).scale.text().to_owned();
    assert_eq!(
        scale(&[gate_up, down, head]),
        "hidden size 8192, vocabulary 32\u{202F}064"
    );
    assert_eq!(scale(&[gate_up, down]), "hidden size 8192");
}

#[test]
fn the_precision_is_that_of_most_of_all_products() {
    let square = "[64, 4096], [4096, 4096]";
    let precision = |all: &[(&str, u32, &str)]| {
        let info = products(all).precision;
        (info.text().to_owned(), info.evidence)
    };
    let (fp8, unknown) = ("void deep_gemm::fp8_gemm_impl", "my_gemm");
    assert_eq!(
        precision(&[(square, 1, "gemm"), ("", 3, fp8)]),
        (
            "FP8".to_owned(),
            "75.0 % of the time of GEMMs, attention and convolutions is in it, by \
             kernel names where shapes were not recorded."
                .to_owned()
        )
    );
    assert_eq!(
        precision(&[(square, 2, "gemm"), ("", 1, unknown)]).0,
        "BF16"
    );
    // One third is known.
    assert_eq!(
        precision(&[(square, 1, "gemm"), ("", 2, unknown)]).0,
        UNKNOWN
    );
}

#[test]
fn words_begin_and_end_where_a_name_can_be_split() {
    let cases = [
        ("DiTBlock", "dit", true),
        ("MMDiTBlock", "dit", true),
        ("dit_block", "dit", true),
        ("T5ForConditionalGeneration", "dit", false),
        ("UNet2DConditionModel", "unet", true),
        ("SD3Transformer2DModel", "sd3", true),
        ("CrossModalityLayer", "ssm", false),
        ("SSMLayer", "ssm", true),
        ("FalconMambaMixer", "mamba", true),
        ("ViTPatchEmbeddings", "vit", true),
        ("ViTPatchEmbeddings", "patchembed", false),
        ("ViTPatchEmbeddings", "patchembeddings", true),
        ("Swinv2Layer", "swinv", true),
        ("Gravity", "vit", false),
        ("größe", "vit", false),
        ("vi", "vit", false),
    ];
    for (class, word, expected) in cases {
        assert_eq!(has_word(class, word), expected, "{class} {word}");
    }
}

#[test]
fn conditional_generation_is_no_diffusion() {
    let attention = |module: &str| {
        let timetable = Timetable::new()
            .frame(module, 0..50)
            .op("aten::scaled_dot_product_attention", 1..40)
            .launched("flash_fwd_kernel", 2..3, 100..200);
        ModelInfo::new(&timetable.profile())
    };
    let text = attention("nn.Module: Qwen2VLForConditionalGeneration_0");
    assert_eq!(text.architecture.text(), "Transformer");
    let image = attention("nn.Module: DiTTransformer2DModel_0");
    assert_eq!(image.architecture.text(), "Diffusion model");
}

#[test]
fn a_trace_without_modules_is_a_workload() {
    let profile = Timetable::new().op("aten::add", 0..10).profile();
    let info = ModelInfo::new(&profile);
    assert_eq!(info.title(), "Workload");
    for answer in [
        &info.model,
        &info.architecture,
        &info.scale,
        &info.precision,
    ] {
        assert_eq!((answer.text(), answer.evidence.as_str()), (UNKNOWN, ""));
    }
}
