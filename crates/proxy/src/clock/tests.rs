use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::AtomicUsize;
use std::task::Wake;

use super::*;

impl Clock {
    /// A clock that stands still until it is moved on.
    pub(crate) fn standing() -> Self {
        let shared = Shared { pretended: Mutex::new(Some(1)), ..Shared::new() };
        Self { shared: Arc::new(shared), thread: None }
    }

    pub(crate) fn advance(&self, by: Duration) {
        if let Some(now) = &mut *self.shared.pretended.lock().unwrap() {
            *now += nanos(by);
        }
        self.shared.ring(&mut self.shared.lock());
    }

    fn waiting(&self) -> usize {
        self.shared.lock().entered.len()
    }
}

/// Counts how often it is woken.
#[derive(Default)]
struct Sleeper(AtomicUsize);

impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Sleeper {
    fn woken(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

fn is_due(alarm: &mut Alarm, sleeper: &Arc<Sleeper>) -> bool {
    let waker = Waker::from(Arc::clone(sleeper));
    alarm.poll(&mut Context::from_waker(&waker)).is_ready()
}

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn an_alarm_wakes_whoever_waits_when_its_time_has_come_and_not_before() {
    let (clock, sleeper) = (Clock::standing(), Arc::default());
    let mut alarm = clock.alarm();
    assert!(!is_due(&mut alarm, &sleeper), "it was never set");
    alarm.set(2 * SECOND);
    assert!(!is_due(&mut alarm, &sleeper));
    clock.advance(SECOND);
    assert_eq!((is_due(&mut alarm, &sleeper), sleeper.woken()), (false, 0));
    clock.advance(SECOND);
    assert_eq!((is_due(&mut alarm, &sleeper), sleeper.woken()), (true, 1));
    assert!(is_due(&mut alarm, &sleeper), "it stays due until it is set anew");
    alarm.set(SECOND);
    assert!(!is_due(&mut alarm, &sleeper));
}

#[test]
fn an_alarm_that_is_put_off_again_and_again_wakes_nobody_before_its_last_time_has_come() {
    let (clock, sleeper) = (Clock::standing(), Arc::default());
    let mut alarm = clock.alarm();
    for _ in 0..9 {
        alarm.set(10 * SECOND);
        assert!(!is_due(&mut alarm, &sleeper));
        clock.advance(SECOND);
    }
    assert_eq!((clock.waiting(), sleeper.woken()), (1, 0));
    clock.advance(SECOND);
    assert_eq!((is_due(&mut alarm, &sleeper), sleeper.woken()), (false, 0), "too early: eight seconds are left");
    assert_eq!(clock.waiting(), 1);
    clock.advance(8 * SECOND);
    assert_eq!((is_due(&mut alarm, &sleeper), sleeper.woken()), (true, 1));
}

#[test]
fn an_alarm_that_is_brought_forward_rings_at_the_earlier_time_only() {
    let (clock, sleeper) = (Clock::standing(), Arc::default());
    let mut alarm = clock.alarm();
    for wait in [600, 10, 3] {
        alarm.set(wait * SECOND);
        assert!(!is_due(&mut alarm, &sleeper));
    }
    assert_eq!(clock.waiting(), 1);
    clock.advance(3 * SECOND);
    assert!(is_due(&mut alarm, &sleeper));
    clock.advance(600 * SECOND);
    assert_eq!(sleeper.woken(), 1);
}

#[test]
fn alarms_that_are_given_up_leave_nothing_behind() {
    let (clock, sleeper) = (Clock::standing(), Arc::default());
    let mut alarms: Vec<Alarm> = (0..100).map(|_| clock.alarm()).collect();
    for alarm in &mut alarms {
        alarm.set(SECOND);
        assert!(!is_due(alarm, &sleeper));
    }
    assert_eq!(clock.waiting(), 100);
    drop(alarms);
    assert_eq!(clock.waiting(), 0);
}

#[test]
fn a_time_beyond_all_reckoning_never_comes() {
    let (clock, sleeper) = (Clock::standing(), Arc::default());
    let mut alarm = clock.alarm();
    alarm.set(Duration::MAX);
    clock.advance(1_000_000 * SECOND);
    assert!(!is_due(&mut alarm, &sleeper));
}

#[tokio::test]
async fn the_thread_wakes_a_task_and_takes_up_an_earlier_alarm_while_it_sleeps() {
    let clock = Clock::start().unwrap();
    let (mut far, mut near) = (clock.alarm(), clock.alarm());
    far.set(3600 * SECOND);
    let mut far = pin!(poll_fn(|cx| far.poll(cx)));
    tokio::select! {
        biased;
        () = &mut far => panic!("an hour early"),
        () = async {
            near.set(Duration::from_millis(1));
            poll_fn(|cx| near.poll(cx)).await;
        } => {}
    }
}

/// As connections do: a short wait while something is asked, a long one in between.
#[test]
fn who_takes_turns_between_short_and_long_waits_enters_them_once() {
    let (clock, sleeper) = (Clock::standing(), Arc::default());
    let (short, long) = (Duration::from_nanos(BEAT), 600 * SECOND);
    let mut alarm = clock.alarm();
    let looked_at = |alarm: &Alarm| alarm.bell.looked_at.load(Ordering::Relaxed);
    for _ in 0..100 {
        for wait in [short, long] {
            alarm.set(wait);
            let before = looked_at(&alarm);
            assert!(!is_due(&mut alarm, &sleeper));
            assert!(before == NEVER || before == looked_at(&alarm), "the clock need not be told");
            clock.advance(Duration::from_millis(3));
        }
    }
    assert_eq!((clock.waiting(), sleeper.woken()), (1, 0));
    clock.advance(SECOND);
    clock.advance(SECOND);
    assert_eq!(looked_at(&alarm), alarm.bell.due.load(Ordering::Relaxed), "who is quiet is left alone");
    clock.advance(long);
    assert_eq!((is_due(&mut alarm, &sleeper), sleeper.woken()), (true, 1));
}

/// Times that are set while the clock looks are not missed, whoever is quicker.
#[test]
fn a_time_that_is_set_while_the_clock_looks_is_kept() {
    let clock = Clock::start().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut alarm = clock.alarm();
    for round in 0..300 {
        let mut due = |wait: Duration| {
            alarm.set(wait);
            runtime.block_on(poll_fn(|cx| Poll::Ready(alarm.poll(cx).is_ready())))
        };
        assert!(!due(3600 * SECOND));
        for _ in 0..round % 7 {
            assert!(!due(Duration::from_nanos(BEAT)) && !due(3600 * SECOND));
        }
        alarm.set(Duration::from_micros(100 * (round % 5)));
        runtime.block_on(poll_fn(|cx| alarm.poll(cx)));
    }
}
