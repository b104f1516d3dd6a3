//! Properties of the binary that make memory errors in the bundled C code harder to exploit.

#![cfg(target_os = "linux")]

const ET_DYN: u8 = 3;

#[test]
fn it_is_position_independent_and_its_c_code_has_stack_protectors() {
    let binary = std::fs::read(env!("CARGO_BIN_EXE_belay")).unwrap();
    assert_eq!((&binary[..4], binary[16]), (b"\x7fELF".as_slice(), ET_DYN), "a position-independent executable");
    let symbol = b"__stack_chk_fail";
    assert!(
        binary.windows(symbol.len()).any(|bytes| bytes == symbol),
        "the C code is compiled without stack protectors"
    );
}
