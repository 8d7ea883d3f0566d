//! The program of the sample: a small GPT in training, data-parallel on eight GPUs.

use super::kernels::{
    self, Product, all_reduce, copy_to_device, copy_to_host, flash_backward, flash_forward, gemm,
    memory,
};
use super::recorder::{Arg, Recorder, Stream, bf16, int64, list, scalar};

const BATCH: i64 = 4;
const LENGTH: i64 = 2048;
const TOKENS: i64 = BATCH * LENGTH;
const HIDDEN: i64 = 2048;
const HEADS: i64 = 16;
const HEAD_DIM: i64 = HIDDEN / HEADS;
const MLP: i64 = 4 * HIDDEN;
const VOCABULARY: i64 = 32_000;
const LAYERS: usize = 2;
const N_GPUS: i64 = 8;
/// Parameters of one layer, and of the two matrices of the vocabulary.
const LAYER_PARAMETERS: i64 = 12 * HIDDEN * HIDDEN + 13 * HIDDEN;
const VOCABULARY_PARAMETERS: i64 = VOCABULARY * HIDDEN;

const ADD: &str = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>)";
const SUM: &str = "void at::native::reduce_kernel<128, 4, at::native::ReduceOp<c10::BFloat16, at::native::func_wrapper_t<c10::BFloat16, at::native::sum_functor<c10::BFloat16, float, c10::BFloat16> >, unsigned int, c10::BFloat16, 4, 4> >(at::native::ReduceOp<c10::BFloat16>)";

/// What the backward pass has to undo, with the sequence number of the forward op.
struct Node {
    sequence: i64,
    name: &'static str,
    step: Step,
}

enum Step {
    Embedding,
    Add,
    LayerNorm,
    Linear { k: i64, n: i64 },
    Attention,
    Dropout,
    Gelu,
    LogSoftmax,
    NllLoss,
}

/// One step of training.
pub(super) fn training_step(r: &mut Recorder, number: i64) {
    r.annotation(&format!("ProfilerStep#{number}"), |r| {
        load_batch(r, number);
        let mut tape = Vec::new();
        r.frame("nn.Module: DistributedDataParallel_0", |r| {
            r.frame("nn.Module: GPT_0", |r| forward(r, &mut tape));
        });
        loss(r, &mut tape);
        r.frame("torch/autograd/__init__.py(243): backward", |r| {
            r.on_autograd_thread(|r| backward(r, tape));
        });
        optimizer(r);
        r.frame("train.py(88): log_loss", |r| {
            r.op("aten::item", &[bf16(&[])], |r| {
                r.op("aten::_local_scalar_dense", &[bf16(&[])], |r| {
                    r.copy(copy_to_host(2), 2, Stream::Compute);
                    r.synchronize(Stream::Compute);
                });
            });
        });
    });
}

/// Waits for the data loader while the GPU has nothing to do, then copies the batch.
fn load_batch(r: &mut Recorder, number: i64) {
    r.frame("torch/utils/data/dataloader.py(733): __next__", |r| {
        r.annotation(
            "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
            |r| r.busy(1_900_000 + 350_000 * (number % 3)),
        );
    });
    r.frame("train.py(61): to_device", |r| {
        // The features travel on a stream of their own, the tokens in front of the model.
        let features = [BATCH, LENGTH, HIDDEN];
        to_device(r, bf16(&features), 2 * TOKENS * HIDDEN, Stream::Copies);
        to_device(r, int64(&[BATCH, LENGTH]), 8 * TOKENS, Stream::Compute);
        r.wait_for(Stream::Compute, Stream::Copies);
    });
}

fn to_device(r: &mut Recorder, tensor: Arg, bytes: i64, stream: Stream) {
    r.op("aten::to", &[tensor.clone(), scalar("cuda:0")], |r| {
        r.op("aten::_to_copy", &[tensor.clone(), scalar("cuda:0")], |r| {
            let args = [tensor.clone(), tensor, scalar("True")];
            r.op("aten::copy_", &args, |r| {
                r.copy(copy_to_device(bytes), bytes, stream);
            });
        });
    });
}

fn forward(r: &mut Recorder, tape: &mut Vec<Node>) {
    r.frame("nn.Module: Embedding_0", |r| {
        let args = [
            bf16(&[VOCABULARY, HIDDEN]),
            int64(&[BATCH, LENGTH]),
            scalar(-1),
            scalar("False"),
            scalar("False"),
        ];
        record(r, tape, "EmbeddingBackward0", Step::Embedding, |r, sequence| {
            r.sequenced("aten::embedding", sequence, &args, |r| {
                let index_args = [
                    bf16(&[VOCABULARY, HIDDEN]),
                    scalar(0),
                    int64(&[TOKENS]),
                ];
                r.op("aten::index_select", &index_args, |r| {
                    r.launch(memory(
                        "void at::native::(anonymous namespace)::indexSelectLargeIndex<c10::BFloat16, long, unsigned int, 2, 2, -2, true>(at::cuda::detail::TensorInfo<c10::BFloat16, unsigned int>, long)",
                        4 * TOKENS * HIDDEN,
                    ));
                });
            });
        });
    });
    add(r, tape);
    for layer in 0..LAYERS {
        r.frame(&format!("nn.Module: Block_{layer}"), |r| {
            block(r, tape, layer)
        });
    }
    layer_norm(r, tape, 2 * LAYERS);
    linear(r, tape, 4 * LAYERS, HIDDEN, VOCABULARY);
}

fn block(r: &mut Recorder, tape: &mut Vec<Node>, layer: usize) {
    layer_norm(r, tape, 2 * layer);
    r.frame(&format!("nn.Module: Attention_{layer}"), |r| {
        linear(r, tape, 4 * layer, HIDDEN, 3 * HIDDEN);
        attention(r, tape);
        linear(r, tape, 4 * layer + 1, HIDDEN, HIDDEN);
        dropout(r, tape, 2 * layer);
    });
    add(r, tape);
    layer_norm(r, tape, 2 * layer + 1);
    r.frame(&format!("nn.Module: MLP_{layer}"), |r| {
        linear(r, tape, 4 * layer + 2, HIDDEN, MLP);
        gelu(r, tape, layer);
        linear(r, tape, 4 * layer + 3, MLP, HIDDEN);
        dropout(r, tape, 2 * layer + 1);
    });
    add(r, tape);
}

fn layer_norm(r: &mut Recorder, tape: &mut Vec<Node>, index: usize) {
    let args = [
        bf16(&[BATCH, LENGTH, HIDDEN]),
        list(&[HIDDEN]),
        bf16(&[HIDDEN]),
        bf16(&[HIDDEN]),
        scalar(1e-5),
    ];
    r.frame(&format!("nn.Module: LayerNorm_{index}"), |r| {
        record(r, tape, "NativeLayerNormBackward0", Step::LayerNorm, |r, sequence| {
            r.op("aten::layer_norm", &args, |r| {
                r.sequenced("aten::native_layer_norm", sequence, &args, |r| {
                    r.launch(memory(
                        "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float, false>(int, float, c10::BFloat16 const*, c10::BFloat16 const*, c10::BFloat16 const*, float*, float*, c10::BFloat16*)",
                        4 * TOKENS * HIDDEN,
                    ));
                });
            });
        });
    });
}

fn linear(r: &mut Recorder, tape: &mut Vec<Node>, index: usize, k: i64, n: i64) {
    let args = [bf16(&[BATCH, LENGTH, k]), bf16(&[n, k]), bf16(&[n])];
    r.frame(&format!("nn.Module: Linear_{index}"), |r| {
        record(
            r,
            tape,
            "AddmmBackward0",
            Step::Linear { k, n },
            |r, sequence| {
                r.op("aten::linear", &args, |r| {
                    transposed(r, n, k);
                    let args = [
                        bf16(&[n]),
                        bf16(&[TOKENS, k]),
                        Arg::Transposed("c10::BFloat16", [k, n]),
                        scalar(1),
                        scalar(1),
                    ];
                    r.sequenced("aten::addmm", sequence, &args, |r| {
                        r.launch(gemm(Product::Forward, TOKENS, n, k));
                    });
                });
            },
        );
    });
}

fn transposed(r: &mut Recorder, rows: i64, columns: i64) {
    r.op("aten::t", &[bf16(&[rows, columns])], |r| r.busy(700));
}

fn attention(r: &mut Recorder, tape: &mut Vec<Node>) {
    let heads = bf16(&[BATCH, HEADS, LENGTH, HEAD_DIM]);
    let inputs = [heads.clone(), heads.clone(), heads];
    let fused = [&inputs[..], &[scalar(0.0), scalar("True"), scalar("False")]].concat();
    let args = [&inputs[..], &[Arg::Nothing, scalar(0.0), scalar("True")]].concat();
    let name = "ScaledDotProductFlashAttentionBackward0";
    record(r, tape, name, Step::Attention, |r, sequence| {
        r.op("aten::scaled_dot_product_attention", &args, |r| {
            let name = "aten::_scaled_dot_product_flash_attention";
            r.sequenced(name, sequence, &fused, |r| {
                r.op("aten::_flash_attention_forward", &inputs, |r| {
                    r.launch(flash_forward(BATCH * HEADS, LENGTH, HEAD_DIM));
                });
            });
        });
    });
}

fn dropout(r: &mut Recorder, tape: &mut Vec<Node>, index: usize) {
    let args = [bf16(&[BATCH, LENGTH, HIDDEN]), scalar(0.1), scalar("True")];
    r.frame(&format!("nn.Module: Dropout_{index}"), |r| {
        record(r, tape, "NativeDropoutBackward0", Step::Dropout, |r, sequence| {
            r.op("aten::dropout", &args, |r| {
                r.sequenced("aten::native_dropout", sequence, &args, |r| {
                    r.launch(memory(
                        "void at::native::(anonymous namespace)::fused_dropout_kernel_vec<c10::BFloat16, float, unsigned int, 1, 4, bool>(at::cuda::detail::TensorInfo<c10::BFloat16 const, unsigned int>, float, at::PhiloxCudaState)",
                        5 * TOKENS * HIDDEN,
                    ));
                });
            });
        });
    });
}

fn gelu(r: &mut Recorder, tape: &mut Vec<Node>, index: usize) {
    let args = [
        bf16(&[BATCH, LENGTH, MLP]),
        Arg::Value("", "none".to_owned()),
    ];
    r.frame(&format!("nn.Module: GELU_{index}"), |r| {
        record(r, tape, "GeluBackward0", Step::Gelu, |r, sequence| {
            r.sequenced("aten::gelu", sequence, &args, |r| {
                r.launch(memory(
                    "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#2}::operator()() const::{lambda()#4}::operator()() const::{lambda(c10::BFloat16)#1}, std::array<char*, 2ul> >(int, std::array<char*, 2ul>)",
                    4 * TOKENS * MLP,
                ));
            });
        });
    });
}

fn add(r: &mut Recorder, tape: &mut Vec<Node>) {
    let hidden = bf16(&[BATCH, LENGTH, HIDDEN]);
    record(r, tape, "AddBackward0", Step::Add, |r, sequence| {
        r.sequenced(
            "aten::add",
            sequence,
            &[hidden.clone(), hidden, scalar(1)],
            |r| {
                r.launch(memory(ADD, 6 * TOKENS * HIDDEN));
            },
        );
    });
}

fn loss(r: &mut Recorder, tape: &mut Vec<Node>) {
    let logits = bf16(&[TOKENS, VOCABULARY]);
    let targets = int64(&[TOKENS]);
    let args = [
        logits.clone(),
        targets.clone(),
        Arg::Nothing,
        scalar(1),
        scalar(-100),
    ];
    r.frame("nn.Module: CrossEntropyLoss_0", |r| {
        r.op("aten::cross_entropy_loss", &args, |r| {
            record(r, tape, "LogSoftmaxBackward0", Step::LogSoftmax, |r, sequence| {
                let args = [logits.clone(), scalar(1), scalar("False")];
                r.sequenced("aten::_log_softmax", sequence, &args, |r| {
                    r.launch(memory(
                        "void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, c10::BFloat16, float, c10::BFloat16, at::native::(anonymous namespace)::LogSoftMaxForwardEpilogue>(c10::BFloat16*, c10::BFloat16 const*, int)",
                        4 * TOKENS * VOCABULARY,
                    ));
                });
            });
            record(r, tape, "NllLossBackward0", Step::NllLoss, |r, sequence| {
                r.sequenced("aten::nll_loss_forward", sequence, &args, |r| {
                    r.launch(memory(
                        "void at::native::(anonymous namespace)::nll_loss_forward_reduce_cuda_kernel_2d<c10::BFloat16, float, long>(c10::BFloat16*, c10::BFloat16*, c10::BFloat16 const*, long const*, c10::BFloat16 const*, bool, long, long, long, long)",
                        10 * TOKENS,
                    ));
                });
            });
        });
    });
}

/// Runs a forward op and notes it on the tape.
fn record(
    r: &mut Recorder,
    tape: &mut Vec<Node>,
    name: &'static str,
    step: Step,
    body: impl FnOnce(&mut Recorder, i64),
) {
    let sequence = r.sequence();
    body(r, sequence);
    tape.push(Node {
        sequence,
        name,
        step,
    });
}

/// Unwinds the tape. Gradients of a layer are reduced among the GPUs as soon as they are
/// complete, while the layer before it is computed; the last ones have nothing to hide behind.
fn backward(r: &mut Recorder, tape: Vec<Node>) {
    let mut n_adds = 0;
    for node in tape.into_iter().rev() {
        let name = format!("autograd::engine::evaluate_function: {}", node.name);
        r.sequenced(&name, node.sequence, &[], |r| {
            r.sequenced(node.name, node.sequence, &[], |r| undo(r, &node.step));
        });
        match node.step {
            Step::Linear { n: VOCABULARY, .. } | Step::Embedding => {
                reduce_gradients(r, VOCABULARY_PARAMETERS);
            }
            // A layer adds twice; its gradients are complete where the next one down begins.
            Step::Add => {
                n_adds += 1;
                if n_adds > 1 && n_adds % 2 == 1 {
                    reduce_gradients(r, LAYER_PARAMETERS);
                }
            }
            _ => {}
        }
    }
    r.wait_for(Stream::Compute, Stream::Collectives);
}

fn undo(r: &mut Recorder, step: &Step) {
    let hidden = bf16(&[BATCH, LENGTH, HIDDEN]);
    match *step {
        Step::Embedding => {
            let args = [hidden, int64(&[BATCH, LENGTH]), scalar(VOCABULARY)];
            r.op("aten::embedding_dense_backward", &args, |r| {
                r.launch(memory(
                    "void at::native::(anonymous namespace)::embedding_backward_feature_kernel<c10::BFloat16, float, long>(long const*, c10::BFloat16 const*, c10::BFloat16*, int, long, int)",
                    2 * (TOKENS + VOCABULARY) * HIDDEN,
                ));
            });
        }
        Step::Add => {
            // The gradient goes both ways; autograd sums where they meet again.
            r.op("aten::add_", &[hidden.clone(), hidden, scalar(1)], |r| {
                r.launch(memory(ADD, 6 * TOKENS * HIDDEN));
            });
        }
        Step::LayerNorm => {
            let args = [
                hidden.clone(),
                hidden,
                list(&[HIDDEN]),
                Arg::Tensor("float", vec![BATCH, LENGTH, 1]),
                Arg::Tensor("float", vec![BATCH, LENGTH, 1]),
                bf16(&[HIDDEN]),
                bf16(&[HIDDEN]),
                Arg::Value("", "[True, True, True]".to_owned()),
            ];
            r.op("aten::native_layer_norm_backward", &args, |r| {
                r.launch(memory(
                    "void at::native::(anonymous namespace)::layer_norm_grad_input_kernel_vectorized<c10::BFloat16, float, false>(c10::BFloat16 const*, c10::BFloat16 const*, float const*, float const*, c10::BFloat16 const*, c10::BFloat16*, int)",
                    6 * TOKENS * HIDDEN,
                ));
                r.launch(memory(
                    "void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernelTemplate<c10::BFloat16, float, 64u, 1u, 32u, true, true, false>(long, long, c10::BFloat16 const*, c10::BFloat16 const*, float const*, float const*, c10::BFloat16*, c10::BFloat16*)",
                    4 * TOKENS * HIDDEN,
                ));
            });
        }
        Step::Linear { k, n } => undo_linear(r, k, n),
        Step::Attention => {
            let heads = bf16(&[BATCH, HEADS, LENGTH, HEAD_DIM]);
            let args = [
                heads.clone(),
                heads.clone(),
                heads.clone(),
                heads.clone(),
                heads,
            ];
            let name = "aten::_scaled_dot_product_flash_attention_backward";
            r.op(name, &args, |r| {
                r.op("aten::_flash_attention_backward", &args, |r| {
                    for kernel in flash_backward(BATCH * HEADS, LENGTH, HEAD_DIM) {
                        r.launch(kernel);
                    }
                });
            });
        }
        Step::Dropout => {
            let args = [
                hidden,
                Arg::Tensor("bool", vec![BATCH, LENGTH, HIDDEN]),
                scalar(1.1111),
            ];
            r.op("aten::native_dropout_backward", &args, |r| {
                r.launch(memory(
                    "void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespace)::masked_scale_kernel<bool, c10::BFloat16, float>(at::Tensor&, at::Tensor, at::Tensor, float)::{lambda(c10::BFloat16, bool)#1}, std::array<char*, 3ul> >(int, std::array<char*, 3ul>)",
                    5 * TOKENS * HIDDEN,
                ));
            });
        }
        Step::Gelu => {
            let wide = bf16(&[BATCH, LENGTH, MLP]);
            let args = [wide.clone(), wide, Arg::Value("", "none".to_owned())];
            r.op("aten::gelu_backward", &args, |r| {
                r.launch(memory(
                    "void at::native::vectorized_elementwise_kernel<4, at::native::GeluBackwardCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#2}::operator()() const::{lambda()#4}::operator()() const::{lambda(c10::BFloat16, c10::BFloat16)#1}, std::array<char*, 3ul> >(int, std::array<char*, 3ul>)",
                    6 * TOKENS * MLP,
                ));
            });
        }
        Step::LogSoftmax => {
            let logits = bf16(&[TOKENS, VOCABULARY]);
            let args = [logits.clone(), logits, scalar(1), scalar(15)];
            r.op("aten::_log_softmax_backward_data", &args, |r| {
                r.launch(memory(
                    "void at::native::(anonymous namespace)::cunn_SoftMaxBackward<8, c10::BFloat16, float, c10::BFloat16, at::native::(anonymous namespace)::LogSoftMaxBackwardEpilogue>(c10::BFloat16*, c10::BFloat16 const*, c10::BFloat16 const*, long)",
                    6 * TOKENS * VOCABULARY,
                ));
            });
        }
        Step::NllLoss => {
            let args = [bf16(&[]), bf16(&[TOKENS, VOCABULARY]), int64(&[TOKENS])];
            r.op("aten::nll_loss_backward", &args, |r| {
                r.launch(memory(
                    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<c10::BFloat16>, std::array<char*, 1ul> >(int, at::native::FillFunctor<c10::BFloat16>, std::array<char*, 1ul>)",
                    2 * TOKENS * VOCABULARY,
                ));
                r.launch(memory(
                    "void at::native::(anonymous namespace)::nll_loss_backward_reduce_cuda_kernel_2d<c10::BFloat16, long>(c10::BFloat16*, c10::BFloat16 const*, long const*, c10::BFloat16 const*, c10::BFloat16 const*, bool, int, int, long, long)",
                    10 * TOKENS,
                ));
            });
        }
    }
}

fn undo_linear(r: &mut Recorder, k: i64, n: i64) {
    transposed(r, k, n);
    let gradient = bf16(&[TOKENS, n]);
    r.op("aten::mm", &[gradient.clone(), bf16(&[n, k])], |r| {
        r.launch(gemm(Product::InputGradient, TOKENS, k, n));
    });
    transposed(r, TOKENS, n);
    let args = [
        Arg::Transposed("c10::BFloat16", [n, TOKENS]),
        bf16(&[TOKENS, k]),
    ];
    r.op("aten::mm", &args, |r| {
        r.launch(gemm(Product::WeightGradient, n, k, TOKENS));
    });
    r.op("aten::sum", &[gradient, list(&[0]), scalar("True")], |r| {
        r.launch(memory(SUM, 2 * TOKENS * n));
    });
}

/// Sums one bucket of gradients over all GPUs.
fn reduce_gradients(r: &mut Recorder, n_elements: i64) {
    let ranks: Vec<String> = (0..N_GPUS).map(|rank| rank.to_string()).collect();
    let collective = format!(
        "\"Collective name\":\"allreduce\",\"In msg nelems\":{n_elements},\"Out msg nelems\":{n_elements},\"In split size\":\"[]\",\"Out split size\":\"[]\",\"Group size\":{N_GPUS},\"dtype\":\"BFloat16\",\"Process Group Name\":\"0\",\"Process Group Description\":\"default_pg\",\"Process Group Ranks\":\"[{}]\",\"Rank\":0",
        ranks.join(", ")
    );
    r.op(
        "c10d::allreduce_",
        &[Arg::Tensors(vec![vec![n_elements]])],
        |r| {
            r.record_op("record_param_comms", &collective, |r| {
                r.annotation("nccl:all_reduce", |r| {
                    let kernel = all_reduce(2 * n_elements, N_GPUS);
                    r.launch_collective(kernel, &format!(",{collective}"));
                });
            });
        },
    );
}

fn optimizer(r: &mut Recorder) {
    let layers = (0..LAYERS).map(|_| LAYER_PARAMETERS);
    let sizes: Vec<i64> = [VOCABULARY_PARAMETERS, VOCABULARY_PARAMETERS]
        .into_iter()
        .chain(layers)
        .collect();
    r.annotation("Optimizer.step#AdamW.step", |r| {
        r.frame("torch/optim/adamw.py(243): step", |r| {
            let tensors = Arg::Tensors(sizes.iter().map(|size| vec![*size]).collect());
            // Parameters, gradients, both moments.
            let args = [tensors.clone(), tensors.clone(), tensors.clone(), tensors];
            r.op("aten::_fused_adamw_", &args, |r| {
                for size in &sizes {
                    r.launch(kernels::memory(
                        "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::FusedOptimizerTensorListMetadata<4>, at::native::(anonymous namespace)::FusedAdamMathFunctor<c10::BFloat16, 4, (at::native::(anonymous namespace)::ADAM_MODE)1, false> >(at::native::(anonymous namespace)::FusedOptimizerTensorListMetadata<4>, float const*, double, double, double, double, double, bool)",
                        14 * size,
                    ));
                }
            });
        });
    });
}
