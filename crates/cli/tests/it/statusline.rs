//! `belay statusline`: always one line.

use crate::world::{World, session_starts};

#[test]
fn the_status_line_is_one_line_whatever_happens() {
    let world = World::alone();
    let huge = format!("{{\"x\":\"{}", "y".repeat(2 * 1024 * 1024));
    for input in ["", "{", "null", "[1]", "{\"session_id\":7}", "{\"session_id\":\"nobody\"}", "\u{fffd}", &huge] {
        for args in [&["statusline"][..], &["statusline", "--what", "-x"], &["--home", "/dev/null/x", "statusline"]] {
            let said = world.run_with(args, input.as_bytes());
            assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (Some(0), "belay\n", ""), "{args:?}");
        }
    }
    assert!(world.run(&["statusline", "--help"]).out.contains("Usage"));
    session_starts(&world, "s1");
    let said = world.run_with(&["statusline"], b"{\"session_id\":\"s1\"}");
    assert_eq!((said.code, said.out.as_str()), (Some(0), "belay: 0 calls\n"));
    assert_eq!(world.run(&["pause", "s1"]).code, Some(0));
    let said = world.run_with(&["statusline"], b"{\"session_id\":\"s1\"}");
    assert!(said.out.starts_with("belay: PAUSED, belay resume "), "{said:?}");
}
