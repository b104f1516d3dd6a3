mod choices;
mod end_stream;
mod insert_nudge;
mod read_message;
