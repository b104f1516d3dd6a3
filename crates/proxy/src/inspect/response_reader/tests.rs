use belay_core::repetition::RepetitionRules;

use super::*;

const CHAT: &str = "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"model\":\"gpt-5.4\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"I \"},\"finish_reason\":null}]}\n\n\
data: {\"id\":\"chatcmpl-1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"will.\"}}]}\n\n\
data: {\"id\":\"chatcmpl-1\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"call_1\",\"type\":\"function\",\"function\":{\"name\":\"bash\",\"arguments\":\"\"}}]}}]}\n\n\
data: {\"id\":\"chatcmpl-1\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{}\"}}]}}]}\n\n\
data: {\"id\":\"chatcmpl-1\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n\
data: {\"id\":\"chatcmpl-1\",\"choices\":[],\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":7,\"prompt_tokens_details\":{\"cached_tokens\":60}}}\n\n\
data: [DONE]\n\n";

const MESSAGES: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"model\":\"claude-opus-5-5\",\"content\":[],\"usage\":{\"input_tokens\":40,\"cache_read_input_tokens\":60,\"cache_creation_input_tokens\":5,\"output_tokens\":1}}}\n\n\
event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n\
event: ping\ndata: {\"type\":\"ping\"}\n\n\
event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"I will.\"}}\n\n\
event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n\
event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"Bash\",\"input\":{}}}\n\n\
event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{}\"}}\n\n\
event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":1}\n\n\
event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":7}}\n\n\
event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";

const RESPONSES: &str = "event: response.created\ndata: {\"type\":\"response.created\",\"sequence_number\":0,\"response\":{\"id\":\"resp_1\",\"model\":\"gpt-5.5\",\"status\":\"in_progress\",\"output\":[]}}\n\n\
event: response.output_item.added\ndata: {\"type\":\"response.output_item.added\",\"sequence_number\":1,\"output_index\":0,\"item\":{\"id\":\"msg_1\",\"type\":\"message\",\"content\":[]}}\n\n\
event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"sequence_number\":2,\"item_id\":\"msg_1\",\"delta\":\"I will.\"}\n\n\
event: response.output_item.done\ndata: {\"type\":\"response.output_item.done\",\"sequence_number\":3,\"output_index\":0,\"item\":{\"id\":\"msg_1\",\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"I will.\"}]}}\n\n\
event: response.output_item.done\ndata: {\"type\":\"response.output_item.done\",\"sequence_number\":4,\"output_index\":1,\"item\":{\"type\":\"function_call\",\"call_id\":\"call_1\",\"name\":\"exec_command\",\"arguments\":\"{}\"}}\n\n\
event: response.completed\ndata: {\"type\":\"response.completed\",\"sequence_number\":5,\"response\":{\"id\":\"resp_1\",\"status\":\"completed\",\"error\":null,\"usage\":{\"input_tokens\":100,\"input_tokens_details\":{\"cached_tokens\":60},\"output_tokens\":7}}}\n\n";

const GENERATE: &str = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"hm\",\"thought\":true},{\"text\":\"I \"}],\"role\":\"model\"}}],\"modelVersion\":\"gemini-2.5-pro\",\"responseId\":\"r1\"}\r\n\r\n\
data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"will.\"},{\"functionCall\":{\"name\":\"f\",\"args\":{}}}],\"role\":\"model\"},\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":100,\"cachedContentTokenCount\":60,\"candidatesTokenCount\":5,\"thoughtsTokenCount\":2}}\r\n\r\n";

fn charge() -> MemoryCharge {
    crate::buffer_pool::BufferPool::new(usize::MAX).new_charge()
}

fn read(api: WireApi, pieces: &[&[u8]]) -> ResponseSummary {
    let mut reader = ResponseReader::new(api, 200, "text/event-stream; charset=utf-8", None, None, charge());
    pieces.iter().for_each(|piece| reader.feed(piece));
    reader.finish(true).0
}

fn summary(summary: &ResponseSummary) -> String {
    let usage = summary.usage.unwrap_or_default();
    format!(
        "{} {} {} calls={} in={} read={} write={} out={} {:?} complete={}",
        summary.id.as_deref().unwrap_or("-"),
        summary.model.as_deref().unwrap_or("-"),
        summary.stop.as_deref().unwrap_or("-"),
        summary.tool_calls,
        usage.input,
        usage.cache_read,
        usage.cache_write,
        usage.output,
        summary.text,
        summary.complete,
    )
}

const STREAMS: [(WireApi, &str, &str); 4] = [
    (
        WireApi::Chat,
        CHAT,
        "chatcmpl-1 gpt-5.4 tool_calls calls=1 in=40 read=60 write=0 out=7 \"I will.\" complete=true",
    ),
    (
        WireApi::Messages,
        MESSAGES,
        "msg_1 claude-opus-5-5 tool_use calls=1 in=40 read=60 write=5 out=7 \"I will.\" complete=true",
    ),
    (
        WireApi::Responses,
        RESPONSES,
        "resp_1 gpt-5.5 completed calls=1 in=40 read=60 write=0 out=7 \"I will.\" complete=true",
    ),
    (
        WireApi::GenerateContent,
        GENERATE,
        "r1 gemini-2.5-pro STOP calls=1 in=40 read=60 write=0 out=7 \"I will.\" complete=true",
    ),
];

#[test]
fn streams_of_all_apis_are_read_wherever_they_are_cut() {
    for (api, stream, expected) in STREAMS {
        assert_eq!(summary(&read(api, &[stream.as_bytes()])), expected);
        for cut in 0..stream.len() {
            let (head, tail) = stream.as_bytes().split_at(cut);
            assert_eq!(summary(&read(api, &[head, tail])), expected, "cut at {cut}");
        }
    }
}

#[test]
fn compressed_streams_are_read_too() {
    use std::io::Write;
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(MESSAGES.as_bytes()).unwrap();
    let packed = gzip.finish().unwrap();
    let mut reader = ResponseReader::new(WireApi::Messages, 200, "text/event-stream", Some("gzip"), None, charge());
    packed.chunks(7).for_each(|piece| reader.feed(piece));
    assert_eq!(summary(&reader.finish(true).0), STREAMS[1].2);
}

#[test]
fn a_compressed_stream_takes_no_more_memory_than_its_longest_event() {
    use std::io::Write;
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(MESSAGES.as_bytes()).unwrap();
    let packed = gzip.finish().unwrap();
    // Less than the whole stream, more than any event of it.
    let charge = crate::buffer_pool::BufferPool::new(packed.len() - 1).new_charge();
    let mut reader = ResponseReader::new(WireApi::Messages, 200, "text/event-stream", Some("gzip"), None, charge);
    packed.iter().for_each(|byte| reader.feed(&[*byte]));
    assert_eq!(summary(&reader.finish(true).0), STREAMS[1].2);
}

#[test]
fn plain_answers_are_read() {
    let plain = |api, body: &str| {
        let mut reader = ResponseReader::new(api, 200, "application/json", None, None, charge());
        reader.feed(body.as_bytes());
        summary(&reader.finish(true).0)
    };
    let chat = r#"{"id":"c","model":"m","choices":[{"message":{"role":"assistant","content":"Hi","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"cost":0.001}}"#;
    assert_eq!(plain(WireApi::Chat, chat), "c m tool_calls calls=1 in=3 read=0 write=0 out=2 \"Hi\" complete=true");
    let messages = r#"{"id":"m1","model":"m","role":"assistant","content":[{"type":"text","text":"Hi"},{"type":"tool_use","id":"t","name":"f","input":{}}],"stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":2}}"#;
    assert_eq!(
        plain(WireApi::Messages, messages),
        "m1 m tool_use calls=1 in=3 read=0 write=0 out=2 \"Hi\" complete=true"
    );
    let responses = r#"{"id":"r","model":"m","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"Hi"}]},{"type":"function_call","call_id":"a"}],"usage":{"input_tokens":3,"output_tokens":2}}"#;
    assert_eq!(
        plain(WireApi::Responses, responses),
        "r m completed calls=1 in=3 read=0 write=0 out=2 \"Hi\" complete=true"
    );
    let list = r#"[{"candidates":[{"content":{"parts":[{"text":"H"}]}}]},{"candidates":[{"content":{"parts":[{"text":"i"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":2},"responseId":"g"}]"#;
    assert_eq!(
        plain(WireApi::GenerateContent, list),
        "g - STOP calls=0 in=3 read=0 write=0 out=2 \"Hi\" complete=true"
    );
}

#[test]
fn failures_are_read_in_every_shape() {
    let failure = |status, body: &str| {
        let mut reader = ResponseReader::new(WireApi::Chat, status, "text/html", None, None, charge());
        reader.feed(body.as_bytes());
        let failure = reader.finish(true).0.failure.unwrap();
        (failure.status, failure.kind, failure.message, failure.resets_at)
    };
    let text = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    let (status, kind, message, _) = failure(429, r#"{"error":{"message":"Slow down","type":"rate_limit_error"}}"#);
    assert_eq!((status, (kind, message)), (429, text("rate_limit_error", "Slow down")));
    let (_, kind, message, resets) =
        failure(429, r#"{"error":{"type":"usage_limit_reached","message":"Limit","resets_at":1794765370}}"#);
    assert_eq!(((kind, message), resets), (text("usage_limit_reached", "Limit"), Some(1_794_765_370)));
    let (_, kind, message, _) =
        failure(503, r#"[{"error":{"code":503,"message":"Overloaded","status":"UNAVAILABLE"}}]"#);
    assert_eq!((kind, message), text("UNAVAILABLE", "Overloaded"));
    assert_eq!(failure(502, "<html>Bad gateway</html>").2, "<html>Bad gateway</html>");
    assert_eq!(failure(500, "").2, "");
}

#[test]
fn a_failure_is_one_however_it_is_written_and_packed() {
    let error = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    let failure = |encoding| {
        let mut reader = ResponseReader::new(WireApi::Messages, 529, "text/event-stream", encoding, None, charge());
        reader.feed(error.as_bytes());
        let failure = reader.finish(true).0.failure.unwrap();
        (failure.status, failure.message)
    };
    assert_eq!(failure(None), (529, "Overloaded".to_owned()));
    assert_eq!(failure(Some("sdch")), (529, String::new()), "nobody can read why");
}

#[test]
fn an_error_in_the_middle_of_a_stream_is_a_failure() {
    let stream = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    let failure = read(WireApi::Messages, &[stream.as_bytes()]).failure.unwrap();
    assert_eq!((failure.kind.as_str(), failure.message.as_str()), ("overloaded_error", "Overloaded"));
    for error in [
        r#"{"type":"error","code":"server_error","message":"Sorry","param":null,"sequence_number":1}"#,
        r#"{"type":"error","error":{"type":"server_error","message":"Sorry"}}"#,
    ] {
        let failure =
            read(WireApi::Responses, &[format!("event: error\ndata: {error}\n\n").as_bytes()]).failure.unwrap();
        assert_eq!((failure.kind.as_str(), failure.message.as_str()), ("server_error", "Sorry"));
    }
    let stream = "data: {\"type\":\"response.failed\",\"response\":{\"id\":\"r\",\"status\":\"failed\",\"error\":{\"code\":\"invalid_prompt\",\"message\":\"No\"}}}\n\n";
    let summary = read(WireApi::Responses, &[stream.as_bytes()]);
    assert_eq!((summary.failure.unwrap().kind.as_str(), summary.complete), ("invalid_prompt", true));
}

/// A stream can be cut after each event; its start and our ending form one complete response.
#[test]
fn a_cut_stream_ends_properly_after_each_event() {
    for (api, stream, _) in STREAMS {
        let mut cuts = 0;
        for cut in 0..stream.len() {
            let mut reader = ResponseReader::new(api, 200, "text/event-stream", None, None, charge());
            reader.feed(&stream.as_bytes()[..cut]);
            if !reader.is_at_event_boundary() || !reader.can_be_cut() {
                continue;
            }
            let end = reader.cut_bytes("[cut]", 0).expect("an ending");
            cuts += 1;
            let summary = read(api, &[&stream.as_bytes()[..cut], &end]);
            assert!(summary.complete && summary.failure.is_none(), "{api:?} {cut}");
            assert!(summary.text.ends_with("[cut]"), "{api:?} {cut} {:?}", summary.text);
            assert!(summary.stop.is_some(), "{api:?} {cut}");
        }
        let events = stream.matches("\n\n").count() + stream.matches("\r\n\r\n").count();
        assert!(cuts >= events - 1, "{api:?} {cuts} {events}");
    }
}

#[test]
fn chanting_is_found_while_it_streams() {
    let mut reader =
        ResponseReader::new(WireApi::Chat, 200, "text/event-stream", None, Some(RepetitionRules::default()), charge());
    let mut fed = 0;
    while reader.repetition().is_none() {
        reader
            .feed(b"data: {\"choices\":[{\"delta\":{\"content\":\"I will fix the test now and then I will \"}}]}\n\n");
        fed += 1;
        assert!(fed < 1000, "nobody notices");
    }
    assert!(reader.is_at_event_boundary());
}

#[test]
fn a_thought_that_runs_in_circles_is_found_and_ended_in_every_api() {
    let thoughts = [
        (WireApi::Chat, r#"{"choices":[{"delta":{"reasoning_content":"TEXT","reasoning":"TEXT"}}]}"#),
        (WireApi::Chat, r#"{"choices":[{"delta":{"content":null,"reasoning":"TEXT","reasoning_content":null}}]}"#),
        (WireApi::Responses, r#"{"type":"response.reasoning_summary_text.delta","delta":"TEXT"}"#),
        (WireApi::Responses, r#"{"type":"response.reasoning_text.delta","delta":"TEXT"}"#),
        (
            WireApi::Messages,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"TEXT"}}"#,
        ),
        (WireApi::GenerateContent, r#"{"candidates":[{"content":{"parts":[{"text":"TEXT","thought":true}]}}]}"#),
    ];
    for (api, event) in thoughts {
        let event = format!("data: {event}\n\n").replace("TEXT", "Wait, let me check the port again. ");
        let mut reader =
            ResponseReader::new(api, 200, "text/event-stream", None, Some(RepetitionRules::default()), charge());
        let mut stream = Vec::new();
        while reader.repetition().is_none() {
            reader.feed(event.as_bytes());
            stream.extend_from_slice(event.as_bytes());
            assert!(reader.summary().output_bytes < 100_000, "nobody notices: {event}");
        }
        assert_eq!(reader.summary().text, "", "a thought is no answer: {event}");
        stream.extend(reader.cut_bytes("[cut]", 0).expect("an ending"));
        let summary = read(api, &[&stream]);
        assert_eq!((summary.complete, summary.text.as_str()), (true, "[cut]"), "{event}");
    }
    let odd = r#"{"choices":[{"delta":{"content":"Hi","reasoning":{"effort":"low"}}}]}"#;
    assert_eq!(read(WireApi::Chat, &[format!("data: {odd}\n\n").as_bytes()]).text, "Hi");
}

#[test]
fn what_the_upstream_tells_of_its_output_counts_while_it_streams() {
    let event = r#"{"candidates":[{"content":{"parts":[{"text":"Hi"}]}}],"usageMetadata":{"promptTokenCount":9,"thoughtsTokenCount":5000}}"#;
    let mut reader = ResponseReader::new(WireApi::GenerateContent, 200, "text/event-stream", None, None, charge());
    reader.feed(format!("data: {event}\n\n").as_bytes());
    assert_eq!(reader.summary().output_tokens(), 5000, "thoughts nobody sees are paid for");
}

#[test]
fn words_for_a_tool_are_watched_like_any_other_input() {
    let piece = |input: &str| {
        format!(
            "data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{\"index\":0,\"id\":\"c\",\"type\":\"custom\",\"custom\":{input}}}]}}}}]}}\n\n"
        )
    };
    let mut reader =
        ResponseReader::new(WireApi::Chat, 200, "text/event-stream", None, Some(RepetitionRules::default()), charge());
    reader.feed(piece("{\"name\":\"sh\",\"input\":null}").as_bytes());
    let more = piece("{\"input\":\"echo the same words again and again \"}");
    let mut fed = 0;
    while reader.repetition().is_none() {
        reader.feed(more.as_bytes());
        fed += 1;
        assert!(fed < 10_000, "nobody notices");
    }
    assert!(reader.can_be_cut() && reader.is_at_event_boundary() && reader.summary().tool_calls == 1);
    let end = String::from_utf8(reader.cut_bytes("[cut]", 0).unwrap()).unwrap();
    assert!(end.contains("\"error\"") && !end.contains("[DONE]"), "{end}");
}

#[test]
fn null_is_no_reason_to_miss_the_rest() {
    let chunk = r#"{"id":"c","choices":null,"usage":{"prompt_tokens":9,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":null,"audio_tokens":null}}}"#;
    let usage = read(WireApi::Chat, &[format!("data: {chunk}\n\n").as_bytes()]).usage.unwrap();
    assert_eq!((usage.input, usage.output), (9, 2));
    let call = r#"{"choices":[{"delta":{"content":"Hi","tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":null}}]}}]}"#;
    let summary = read(WireApi::Chat, &[format!("data: {call}\n\n").as_bytes()]);
    assert_eq!((summary.text.as_str(), summary.tool_calls), ("Hi", 1));
    let done = r#"{"type":"response.completed","response":{"id":"r","output":null,"usage":{"input_tokens":9,"output_tokens":2,"input_tokens_details":{"cached_tokens":null}}}}"#;
    let usage = read(WireApi::Responses, &[format!("data: {done}\n\n").as_bytes()]).usage.unwrap();
    assert_eq!((usage.input, usage.output), (9, 2));
    let start = r#"{"type":"message_start","message":{"id":"m","content":null,"usage":{"input_tokens":9,"output_tokens":2,"cache_read_input_tokens":null}}}"#;
    let usage = read(WireApi::Messages, &[format!("data: {start}\n\n").as_bytes()]).usage.unwrap();
    assert_eq!((usage.input, usage.output), (9, 2));
}
