//! `cargo xtask bench proxy`: the cost of the proxy, compared with other proxies.
//!
//! All targets run side by side and are asked in turn, one request each per round and in shuffled order, so that other
//! load affects all of them equally. A target is a separate process; its CPU time is read from the kernel.

#![expect(clippy::print_stdout, reason = "the table is the product")]
#![cfg_attr(
    not(test),
    expect(clippy::expect_used, clippy::unwrap_used, reason = "a bench that cannot run should say so and stop")
)]

mod bars;
mod client;
mod copy;
mod hyper_pass;
mod load;
mod others;
mod paced;
mod process;
mod strain;
mod table;
mod targets;
mod upstream;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        // The benchmark starts itself again for its built-in targets.
        ["serve", "upstream"] => upstream::serve(),
        ["serve", "copy", upstream] => copy::serve(upstream),
        ["serve", "hyper", upstream] => hyper_pass::serve(upstream),
        ["serve", "relay", upstream] => targets::serve_relay(upstream),
        ["keep", "busy"] => paced::keep_busy(),
        names => table::print(names),
    }
}
