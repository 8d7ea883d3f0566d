//! Readable short names of kernels.

/// Shortens a kernel's name: drops the return type, namespaces shared by all kernels of a library, wrappers, lambdas,
/// operands, and the parameter list. Keeps what distinguishes kernels: functor, types, tile, split. A mangled name
/// becomes its namespaces and function. For display only: two kernels may end up with the same name.
pub fn kernel_name(name: &str) -> String {
    if let Some(plain) = unmangled(name) {
        return plain;
    }
    let mut short = name.strip_prefix("void ").unwrap_or(name);
    // A parameter list ends the name and directly follows its identifier. "Memcpy HtoD (Pinned -> Device)" has a space
    // there.
    if let Some(open) = opening_parenthesis(short)
        && short
            .get(..open)
            .is_some_and(|head| !head.ends_with([' ', '(']) && !head.is_empty())
    {
        short = short.get(..open).unwrap_or(short);
    }
    if short.starts_with("Cijk_") {
        return tensile(short);
    }
    let short = SILENT_PARTS
        .iter()
        .fold(short.to_owned(), |name, (part, instead)| {
            name.replace(part, instead)
        });
    without_operands(without_lambdas(&unwrapped(short))).replace("> >", ">>")
}

/// The name of an operation for display: that of a kernel without an operator is shortened.
pub(crate) fn operation_name(name: &str) -> std::borrow::Cow<'_, str> {
    let is_signature = name.starts_with("void ") || name.starts_with("_Z");
    match is_signature {
        true => kernel_name(name).into(),
        false => name.into(),
    }
}

/// Parts of kernel names that carry no information, and types that have a shorter name.
const SILENT_PARTS: &[(&str, &str)] = &[
    ("(anonymous namespace)::", ""),
    ("at::native::", ""),
    ("binary_internal::", ""),
    ("c10::BFloat16", "bf16"),
    ("c10::Half", "fp16"),
    ("_warpgroupsize1x1x1", ""),
    ("_execute_segment_k_off", ""),
    ("_kernel__5x_cublas", ""),
];

/// Wrapper templates, and which of their arguments is the actual computation.
const WRAPPERS: &[(&str, Argument)] = &[
    ("gpu_kernel_impl_nocast<", Argument::First),
    ("gpu_kernel_impl<", Argument::First),
    ("cutlass::Kernel2<", Argument::First),
    ("cutlass::Kernel<", Argument::First),
    ("AUnaryFunctor<", Argument::LastOfType),
    ("BUnaryFunctor<", Argument::LastOfType),
    ("BinaryFunctor<", Argument::LastOfType),
    ("func_wrapper_t<", Argument::SecondOfType),
    ("ReduceOp<", Argument::SecondOfType),
];

/// An argument of a template.
#[derive(Debug, Clone, Copy)]
enum Argument {
    First,
    /// A functor, shown with its type, which is the template's first argument.
    SecondOfType,
    LastOfType,
}

/// `BinaryFunctor<bf16, bf16, bf16, MulFunctor<float>>` as `MulFunctor<bf16>`.
fn unwrapped(mut name: String) -> String {
    for (wrapper, argument) in WRAPPERS {
        while let Some((before, arguments, after)) = template(&name, wrapper) {
            let first = arguments.first().copied().unwrap_or_default();
            let functor = match argument {
                Argument::First => None,
                Argument::SecondOfType => arguments.get(1),
                Argument::LastOfType => arguments.last(),
            };
            let inner = functor.map_or(first.to_owned(), |functor| {
                let (functor, _) = functor.split_once('<').unwrap_or((functor, ""));
                format!("{functor}<{first}>")
            });
            let shorter = format!("{before}{inner}{after}");
            // A functor named like its wrapper would be unwrapped forever.
            if shorter.len() >= name.len() {
                break;
            }
            name = shorter;
        }
    }
    name
}

/// The text before a template, its arguments, and the text after it.
fn template<'a>(name: &'a str, opening: &str) -> Option<(&'a str, Vec<&'a str>, &'a str)> {
    let (before, rest) = name.split_once(opening)?;
    let (mut depth, mut start, mut arguments) = (0_usize, 0, Vec::new());
    for (at, letter) in rest.char_indices() {
        match letter {
            '<' | '(' | '{' => depth += 1,
            '>' if depth == 0 => {
                arguments.push(rest.get(start..at)?.trim());
                return Some((before, arguments, rest.get(at + 1..)?));
            }
            '>' | ')' | '}' => depth = depth.checked_sub(1)?,
            ',' if depth == 0 => {
                arguments.push(rest.get(start..at)?.trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    None
}

/// Turns `copy_kernel(Iterator&)::{lambda()#3}::operator()() const::{lambda(bf16)#1}` into `copy_kernel(bf16)`: of
/// nested lambdas it keeps the parameter types of the innermost.
fn without_lambdas(name: &str) -> String {
    const LAMBDA: &str = "::{lambda(";
    let mut short = String::new();
    let mut rest = name;
    while let Some((before, lambda)) = rest.split_once(LAMBDA) {
        let Some((taken, after)) = lambda.split_once('}') else {
            break;
        };
        let parameters = opening_parenthesis(before).and_then(|open| before.get(..open));
        short.push_str(parameters.unwrap_or(before));
        rest = after.strip_prefix("::operator()() const").unwrap_or(after);
        let (taken, _) = taken.rsplit_once(")#").unwrap_or_default();
        if !rest.starts_with(LAMBDA) && !["", "int"].contains(&taken) {
            short.push_str(&format!("({taken})"));
        }
    }
    short + rest
}

/// Drops the operand pointers of an element-wise kernel and the arguments after them, which describe indexing.
fn without_operands(name: String) -> String {
    match name.split_once(", std::array<char*") {
        Some((before, _)) if before.contains("elementwise_kernel<") => format!("{before}>"),
        _ => name,
    }
}

/// Shortens a Tensile name to the likes of `Cijk_Alik_Bljk_BBS_BH_MT256x128x64_MI16x16x1`. The full name lists all of
/// the generator's choices; kept are layouts, types, tile, matrix instruction, and how K is split.
fn tensile(name: &str) -> String {
    let parts: Vec<&str> = name.split('_').collect();
    let tile = parts.iter().position(|part| is_numbered(part, "MT"));
    let types = parts.iter().take(tile.unwrap_or(parts.len()));
    let types = types.take_while(|part| !["Bias", "UserArgs"].contains(part));
    let split = |part: &&&str| {
        is_numbered(part, "MT")
            || is_numbered(part, "MI")
            || (is_numbered(part, "GSU") && **part != "GSU1")
            || (is_numbered(part, "SK") && **part != "SK0")
    };
    let chosen = parts.iter().skip(tile.unwrap_or(parts.len()));
    let kept: Vec<&str> = types.chain(chosen.filter(split)).copied().collect();
    kept.join("_")
}

/// Whether a part is these letters followed by a number, as "MT256x128x64" is for "MT".
fn is_numbered(part: &str, letters: &str) -> bool {
    let number = part.strip_prefix(letters);
    number.is_some_and(|number| number.starts_with(|digit: char| digit.is_ascii_digit()))
}

/// Turns `_ZN2ck6device4convILi4EEEvv` into `ck::device::conv<…>`: the length-prefixed names of the Itanium C++ ABI, up
/// to the template arguments. Those are left out, because they contain back-references.
fn unmangled(name: &str) -> Option<String> {
    let rest = name.strip_prefix("_Z")?;
    let (mut rest, is_nested) = match rest.strip_prefix('N') {
        Some(rest) => (rest.trim_start_matches(['r', 'V', 'K']), true),
        None => (rest, false),
    };
    let mut parts: Vec<&str> = Vec::new();
    if let Some(after) = rest.strip_prefix("St") {
        parts.push("std");
        rest = after;
    }
    loop {
        let named = rest.trim_start_matches('L');
        let n_digits = named.bytes().take_while(u8::is_ascii_digit).count();
        let Some((length, after)) = named.split_at_checked(n_digits) else {
            break;
        };
        let Some((part, after)) = length
            .parse()
            .ok()
            .and_then(|length: usize| after.split_at_checked(length))
        else {
            break;
        };
        if !part.starts_with("_GLOBAL__N") {
            parts.push(part);
        }
        rest = after;
        if !is_nested {
            break;
        }
    }
    let arguments = if rest.starts_with('I') { "<…>" } else { "" };
    (!parts.is_empty()).then(|| format!("{}{arguments}", parts.join("::")))
}

/// The position of the parenthesis that the last character closes.
fn opening_parenthesis(text: &str) -> Option<usize> {
    if !text.ends_with(')') {
        return None;
    }
    let mut depth = 0_usize;
    for (at, letter) in text.char_indices().rev() {
        match letter {
            ')' => depth += 1,
            '(' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_names_lose_what_says_nothing() {
        #[rustfmt::skip]
        let cases = [
            ("ampere_sgemm_128x64_nn", "ampere_sgemm_128x64_nn"),
            ("Memcpy HtoD (Pinned -> Device)", "Memcpy HtoD (Pinned -> Device)"),
            ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"),
            ("void at::native::(anonymous namespace)::CatArrayBatchedCopy<at::native::(anonymous namespace)::OpaqueType<2u>, unsigned int, 4>(unsigned int*, std::array<char*, 2ul> (*)())", "CatArrayBatchedCopy<OpaqueType<2u>, unsigned int, 4>"),
            ("void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::BinaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, at::native::binary_internal::MulFunctor<float> > >(at::TensorIteratorBase&)::{lambda(int)#1}>(int)", "elementwise_kernel<128, 4, MulFunctor<bf16>>"),
            ("void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#2}::operator()() const::{lambda()#4}::operator()() const::{lambda(c10::BFloat16)#1}, std::array<char*, 2ul> >(int, std::array<char*, 2ul>)", "vectorized_elementwise_kernel<4, GeluCUDAKernelImpl(bf16)>"),
            ("void at::native::unrolled_elementwise_kernel<at::native::CUDAFunctor_add<float>, std::array<char*, 2ul>, 4, TrivialOffsetCalculator<1, unsigned int> >(int)", "unrolled_elementwise_kernel<CUDAFunctor_add<float>>"),
            ("void at::native::reduce_kernel<128, 4, at::native::ReduceOp<c10::BFloat16, at::native::func_wrapper_t<c10::BFloat16, at::native::sum_functor<c10::BFloat16, float, c10::BFloat16> >, unsigned int, c10::BFloat16, 4> >(int)", "reduce_kernel<128, 4, sum_functor<bf16>>"),
            ("void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_64x1_nn_align8>(cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_64x1_nn_align8::Params)", "cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_64x1_nn_align8"),
            ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas", "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64"),
            ("Cijk_Alik_Bljk_B_BS_BH_Bias_HA_S_SAV_UserArgs_MT256x128x64_MI16x16x1_SN_LDSB1_GSU4_GSUAMB_K1_SK3_MO40", "Cijk_Alik_Bljk_B_BS_BH_MT256x128x64_MI16x16x1_GSU4_SK3"),
            ("Cijk_Alik", "Cijk_Alik"),
            ("BinaryFunctor<BinaryFunctor>", "BinaryFunctor<BinaryFunctor>"),
            ("odd_kernel<4, gpu_kernel_impl<f", "odd_kernel<4, gpu_kernel_impl<f"),
            ("odd::{lambda(int", "odd::{lambda(int"),
            ("_ZN2ck6device12_GLOBAL__N_14convINS_5TupleILi4EEEEEvPKf", "ck::device::conv<…>"),
            ("_ZN5aiter9fmha_bf16E.kd", "aiter::fmha_bf16"),
            ("_ZL4axpyIfEvT_", "axpy<…>"),
            ("_ZNKSt6vector4sizeEv", "std::vector::size"),
            ("_Zoops", "_Zoops"),
            ("_ZN99short", "_ZN99short"),
            ("(anonymous)", "(anonymous)"),
            ("f()", "f"),
            ("odd)", "odd)"),
            ("", ""),
        ];
        for (name, expected) in cases {
            assert_eq!(kernel_name(name), expected);
        }
    }
}
