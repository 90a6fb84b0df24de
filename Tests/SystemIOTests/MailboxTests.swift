import SystemIO
import TestSupport
import Testing

@Suite(.limitedConcurrency) struct MailboxTests {
    @Test("Collects messages once, in the order they were posted")
    func order() {
        let mailbox = Mailbox<Int>()
        for number in 1...3 { #expect(mailbox.post(number)) }
        var messages = [0]
        mailbox.collect(&messages)
        #expect(messages == [1, 2, 3])
        mailbox.collect(&messages)
        #expect(messages.isEmpty)
    }

    @Test("Wakes the loop when a message is posted")
    func wakes() throws {
        let (mailbox, poller) = (Mailbox<Int>(), try EventPoller())
        mailbox.attach(poller)
        #expect(mailbox.prepareToSleep())
        mailbox.post(1)
        var events: [EventPoller.Event] = []
        // Without the signal, this would never return.
        poller.wait(milliseconds: -1, &events)
        #expect(events.isEmpty)
    }

    @Test("Keeps the loop awake until pending messages are collected")
    func awake() {
        let mailbox = Mailbox<Int>()
        mailbox.post(1)
        #expect(!mailbox.prepareToSleep())
        var messages: [Int] = []
        mailbox.collect(&messages)
        #expect(mailbox.prepareToSleep())
    }

    @Test("Returns the pending messages when closed, and accepts no others")
    func closed() {
        let mailbox = Mailbox<Int>()
        mailbox.post(1)
        #expect(mailbox.close() == [1])
        #expect(!mailbox.post(2))
        #expect(mailbox.close().isEmpty)
    }
}
