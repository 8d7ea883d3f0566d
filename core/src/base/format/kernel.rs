//! Names of kernels, short enough to read.

/// A kernel's name without what says nothing: the return type, namespaces that all of a library's
/// kernels share, wrappers, and the parameter list. The other template arguments tell kernels
/// apart and stay. A name as the linker knows it becomes its namespaces and the function. For
/// reading: two kernels may end up with one name.
pub fn kernel_name(name: &str) -> String {
    if let Some(plain) = unmangled(name) {
        return plain;
    }
    let mut short = name.strip_prefix("void ").unwrap_or(name);
    // A parameter list closes the name and opens right behind it. "Memcpy HtoD (Pinned ->
    // Device)" has a space there.
    if let Some(open) = opening_parenthesis(short)
        && short
            .get(..open)
            .is_some_and(|head| !head.ends_with([' ', '(']) && !head.is_empty())
    {
        short = short.get(..open).unwrap_or(short);
    }
    SILENT_PARTS
        .iter()
        .fold(short.to_owned(), |name, (part, instead)| {
            name.replace(part, instead)
        })
}

/// Parts of kernel names that say nothing, and types that have a shorter name.
const SILENT_PARTS: &[(&str, &str)] = &[
    ("(anonymous namespace)::", ""),
    ("at::native::", ""),
    ("gpu_kernel_impl_nocast<", ""),
    ("gpu_kernel_impl<", ""),
    ("(at::TensorIteratorBase&)", ""),
    ("c10::BFloat16", "bf16"),
    ("c10::Half", "fp16"),
];

/// `ck::device::conv<…>` of `_ZN2ck6device4convILi4EEEvv`: the names that the Itanium C++ ABI writes
/// with their lengths, up to the template's arguments. Those are written with references to parts
/// before them, so they are left out.
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

/// Where the parenthesis opens that the last character closes.
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
        let cases = [
            ("ampere_sgemm_128x64_nn", "ampere_sgemm_128x64_nn"),
            (
                "Memcpy HtoD (Pinned -> Device)",
                "Memcpy HtoD (Pinned -> Device)",
            ),
            (
                "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                "ncclDevKernel_AllReduce_Sum_bf16_RING_LL",
            ),
            (
                "void at::native::(anonymous namespace)::CatArrayBatchedCopy<at::native::(anonymous namespace)::OpaqueType<2u>, unsigned int, 4>(unsigned int*, std::array<char*, 2ul> (*)())",
                "CatArrayBatchedCopy<OpaqueType<2u>, unsigned int, 4>",
            ),
            (
                "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::BinaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, at::native::binary_internal::MulFunctor<float> > >(at::TensorIteratorBase&)::{lambda(int)#1}>(int)",
                "elementwise_kernel<128, 4, BinaryFunctor<bf16, bf16, bf16, binary_internal::MulFunctor<float> > >::{lambda(int)#1}>",
            ),
            (
                "_ZN2ck6device12_GLOBAL__N_14convINS_5TupleILi4EEEEEvPKf",
                "ck::device::conv<…>",
            ),
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
