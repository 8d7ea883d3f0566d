//! The operations of graph replays without a capture: from the model's sizes, or from an eager trace.

use std::collections::BTreeMap;
use std::sync::Arc;

use dormer_core::perf::model_config::{self, Role};
use dormer_core::perf::{Modeled, Param};
use dormer_core::profile::Profile;
use dormer_core::profile::graphs::shapes::{EagerShapes, ShapeSources, Source};
use dormer_core::profile::operations::Operation;

use super::{captured, fact, is_near, known_percent};
use crate::support::opened::{profile, report};
use crate::support::shared;

/// A configuration with the sizes of gpt-oss-20b.
const GPT_OSS: &str = r#"{
    "architectures": ["GptOssForCausalLM"], "model_type": "gpt_oss", "hidden_size": 2880,
    "intermediate_size": 2880, "num_hidden_layers": 24, "num_attention_heads": 64,
    "num_key_value_heads": 8, "head_dim": 64, "vocab_size": 201088, "sliding_window": 128,
    "layer_types": ["sliding_attention", "full_attention"], "num_local_experts": 32,
    "num_experts_per_tok": 4, "hidden_act": "silu", "torch_dtype": "bfloat16",
    "quantization_config": {"quant_method": "mxfp4"}}"#;

/// Results from the model's sizes without a capture, and without its configuration: times in microseconds, TFLOPS, TB/s
/// and percentages of roofline.
#[test]
fn the_work_of_a_decode_step_without_a_capture() {
    let Some(trace) = shared::serving("vllm_decode_full") else {
        return;
    };
    let alone = profile(trace.clone());
    let config = model_config::parse(GPT_OSS).unwrap();
    let given = profile(trace).with_sources(ShapeSources {
        config: Some(Arc::new(config)),
        ..ShapeSources::default()
    });
    #[rustfmt::skip]
    let expected = [
        (Role::Qkv, 24, 16.13, Some(58.6), 1.864, 35.2),
        (Role::Output, 24, 15.26, Some(49.6), 1.580, 29.8),
        (Role::Router, 24, 8.36, Some(0.7055), 0.0446, 0.84),
        (Role::Attention, 24, 23.44, Some(19.25), 2.418, 45.6),
        (Role::WindowedAttention, 12, 13.48, None, 0.661, 12.5),
        (Role::ExpertsUp, 24, 136.36, None, 2.046, 38.6),
        (Role::ExpertsDown, 24, 156.75, None, 0.893, 16.8),
    ];
    for profile in [alone, given] {
        let report = report(&profile);
        let serving = report.overview.serving.as_ref().unwrap();
        assert_eq!(fact(serving, "Model"), "gpt-oss-20b");
        let known = fact(serving, "Known work");
        assert!(known.contains("from config"), "{known}");
        assert!(known_percent(&profile) >= 90.0, "{known}");
        for (role, n, us, tflops, tbps, roofline) in expected {
            let all = profile.operations().iter().zip(&report.evaluations);
            let all = all.filter(|(one, _)| {
                one.estimate
                    .as_ref()
                    .is_some_and(|known| known.role == role)
            });
            let (mut calls, mut ns, mut flops, mut bytes, mut rooflines) = (0, 0.0, 0.0, 0.0, 0.0);
            for (one, evaluation) in all {
                let work = evaluation.work.unwrap();
                calls += one.calls.len();
                ns += one.kernel_ns as f64;
                flops += work.flops * one.calls.len() as f64;
                bytes += work.bytes.unwrap() * one.calls.len() as f64;
                rooflines +=
                    evaluation.achieved.unwrap().percent_of_roofline * one.kernel_ns as f64;
            }
            assert_eq!(calls, n, "{role:?}");
            assert!(
                is_near(ns / 1e3 / n as f64, us),
                "{role:?}: {} µs",
                ns / 1e3 / n as f64
            );
            assert!(
                is_near(bytes / ns / 1e3, tbps),
                "{role:?}: {} TB/s",
                bytes / ns / 1e3
            );
            assert!(
                is_near(rooflines / ns, roofline),
                "{role:?}: {} %",
                rooflines / ns
            );
            assert!(
                tflops.is_none_or(|one| is_near(flops / ns / 1e3, one)),
                "{role:?}: {}",
                flops / ns / 1e3
            );
        }
        // At the rate of the first one, the second expert GEMM takes 2.12 ms less.
        let mut ranked = report.analyses.findings.ranked.iter();
        assert!(ranked.any(|one| one.finding.pattern == "slower_expert_gemm"));
    }
}

/// The configuration of FLUX.1-dev's transformer.
const FLUX: &str = r#"{
    "_class_name": "FluxTransformer2DModel", "num_layers": 19, "num_single_layers": 38,
    "num_attention_heads": 24, "attention_head_dim": 128, "joint_attention_dim": 4096,
    "in_channels": 64, "patch_size": 1, "guidance_embeds": true}"#;

/// The start times of a profile's kernels, with the operation of each.
fn by_start(profile: &Profile) -> BTreeMap<i64, &Operation> {
    let operations = profile.operations().iter();
    let calls = operations.flat_map(|one| one.calls.iter().map(move |call| (one, call)));
    let work = calls.flat_map(|(one, call)| call.work.iter().map(move |id| (one, *id)));
    work.map(|(one, id)| (profile.gpu.get(id).unwrap().span.start_ns, one))
        .collect()
}

/// Kernels identified without a capture, compared with what the capture recorded for each: GEMMs and attentions with
/// the same sizes, and others that move no more bytes than recorded.
fn confirmed(alone: &Profile, merged: &Profile) -> (usize, usize, usize) {
    let recorded = by_start(merged);
    let (mut gemms, mut attentions, mut others) = (0, 0, 0);
    for (start_ns, one) in by_start(alone) {
        let Some(estimate) = &one.estimate else {
            continue;
        };
        let Some(known) = recorded[&start_ns].modeled.as_ref() else {
            continue;
        };
        let size = |modeled: &Modeled, name: &str| modeled.param(name).and_then(Param::size);
        let sizes = |modeled| ["M", "N", "K"].map(|name| size(modeled, name));
        let (ours, theirs) = (&estimate.modeled, known);
        if estimate.role == Role::Attention {
            attentions += 1;
            assert!((ours.work.flops / theirs.work.flops - 1.0).abs() < 1e-9);
        } else if sizes(ours)[0].is_some() {
            gemms += 1;
            assert_eq!(
                sizes(ours),
                sizes(theirs),
                "{:?} at {start_ns}",
                estimate.role
            );
        } else {
            others += 1;
            assert!(estimate.is_least, "{:?}", estimate.role);
            let (ours, theirs) = (ours.work.bytes.unwrap(), theirs.work.bytes.unwrap());
            assert!(ours <= theirs, "{:?}: {ours} of {theirs}", estimate.role);
        }
    }
    (gemms, attentions, others)
}

/// The shapes of a trace's capture, used as an eager trace.
fn shapes_of_capture(name: &str) -> Arc<EagerShapes> {
    let capture = shared::serving(&format!("{name}.capture")).unwrap();
    EagerShapes::of(&profile(capture)).unwrap()
}

/// Results from a diffusion transformer's configuration match what its capture recorded; so do results from the capture
/// used as the eager trace.
#[test]
fn the_work_of_denoising_steps_without_their_capture() {
    let name = "xdit_flux_sage";
    let (Some(trace), Some(merged)) = (shared::serving(name), captured(name)) else {
        return;
    };
    let eager = shapes_of_capture(name);
    let config = ShapeSources {
        config: Some(Arc::new(model_config::parse(FLUX).unwrap())),
        ..ShapeSources::default()
    };
    let eager = ShapeSources {
        eager: Some(eager),
        ..ShapeSources::default()
    };
    for sources in [config, eager] {
        let alone = profile(&trace).with_sources(sources);
        // 495 of 503 GEMMs of a step; those that embed time, image and text have no role.
        let (gemms, attentions, others) = confirmed(&alone, &merged);
        assert_eq!((gemms, attentions), (4 * 495, 4 * 57));
        assert!(others >= 4 * 76, "{others}");
        let percent = known_percent(&alone);
        assert!(percent >= 80.0, "{percent}");
        if let Some(coverage) = alone.eager_coverage() {
            assert!(
                coverage.contains("2\u{202f}208 of 2\u{202f}240"),
                "{coverage}"
            );
        }
    }
}

/// The GEMMs of a decode step, matched by position with those in its capture, and its attention to the whole context.
#[test]
fn the_work_of_a_decode_step_by_an_eager_trace() {
    let name = "vllm_decode_full";
    let (Some(trace), Some(merged)) = (shared::serving(name), captured(name)) else {
        return;
    };
    let eager = shapes_of_capture(name);
    let alone = profile(trace).with_sources(ShapeSources {
        eager: Some(eager),
        ..ShapeSources::default()
    });
    let coverage = alone.eager_coverage().unwrap();
    for part in [
        "gives the sizes of 84 of 96",
        "12 attentions with a sliding window",
    ] {
        assert!(coverage.contains(part), "{coverage}");
    }
    let of_capture = alone.operations().iter().filter(|one| {
        let source = one.estimate.as_ref().map(|known| known.source);
        source == Some(Source::Eager)
    });
    let recorded = by_start(&merged);
    let mut n = 0;
    for one in of_capture {
        let known = one.estimate.as_ref().unwrap();
        for id in one.calls.iter().flat_map(|call| &call.work) {
            let start_ns = alone.gpu.get(*id).unwrap().span.start_ns;
            let theirs = recorded[&start_ns].modeled.as_ref().unwrap();
            if let (Some(ours), Some(theirs)) = (known.modeled.param("K"), theirs.param("K")) {
                assert_eq!(ours, theirs);
                n += 1;
            }
        }
    }
    assert_eq!(n, 72);
}
