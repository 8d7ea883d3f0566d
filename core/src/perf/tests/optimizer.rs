//! Lists of tensors.

use super::check;

#[test]
fn lists_copied_from_one_type_to_another() {
    check(
        "
        # 16 numbers, four bytes read and two written.
        aten::_foreach_copy_([10 2x3], [10 2x3], =False) by multi_tensor_apply_kernel<CopyFunctor<c10::BFloat16, float, 2, 1, 1>, at::native::Copy<c10::BFloat16, float> > -> 0 | 96
        aten::_foreach_copy_([10 2x3], [10 2x3], =False) by multi_tensor_apply_kernel<CopyFunctor<float, float, 2, 1, 1>, at::native::Copy<float, float> > -> 0 | 128
        aten::_foreach_copy_([10 2x3], [10 2x3], =False) by multi_tensor_apply_kernel<CopyFunctor<c10::complex<float>, c10::complex<double>, 2, 1, 1>, at::native::Copy<c10::complex<float>, c10::complex<double>> > -> 0 | 384
        ",
    );
}

#[test]
fn optimizers_walk_lists() {
    check(
        "
        # 16 parameters of two bytes, seven passes.
        aten::_fused_adamw_([10 2x3], [10 2x3]) -> 192 | 224
        aten::_foreach_add_(_, _) -> none
        ",
    );
}

#[test]
fn lists_of_tensors() {
    check(
        "
        # 16 elements of two bytes: copies read one list and write the other.
        aten::_foreach_copy_([10 2x3], [10 2x3], =False) -> 0 | 64
        aten::_foreach_add_([10 2x3], [10 2x3], =1) -> 32 | 96
        aten::_foreach_addcdiv_([10 2x3]*3, =1) -> 48 | 128
        aten::_foreach_norm([10 2x3], =2) -> 32 | 32
        aten::_fused_sgd_([10 2x3]*3) -> 64 | 160
        # Without momentum the parameter alone is written.
        aten::_fused_sgd_([10 2x3], [10 2x3], _) -> 32 | 96
        # AMSGrad: the largest second moments are a list of their own.
        aten::_fused_adamw_([10 2x3]*5) -> 208 | 288
        aten::_fused_adagrad_([10 2x3]*3) -> 80 | 160
        aten::_amp_foreach_non_finite_check_and_unscale_([10 2x3], 1:float, 1:float) -> 32 | 64
        # One that no row names: a list and a number.
        aten::_foreach_frac_([10 2x3]) -> 16 | 64
        ",
    );
}
