import System
import Testing

@Suite struct MailboxTests {
    @Test("Messages are collected once, in the order in which they were posted")
    func order() {
        let mailbox = Mailbox<Int>()
        for number in 1...3 { #expect(mailbox.post(number)) }
        var messages = [0]
        mailbox.collect(&messages)
        #expect(messages == [1, 2, 3])
        mailbox.collect(&messages)
        #expect(messages.isEmpty)
    }

    @Test("A message ends the sleep of the loop")
    func wakes() throws {
        let (mailbox, poller) = (Mailbox<Int>(), try EventPoller())
        mailbox.attach(poller)
        #expect(mailbox.prepareToSleep())
        mailbox.post(1)
        var events: [EventPoller.Event] = []
        // Without the signal this would never return.
        poller.wait(milliseconds: -1, &events)
        #expect(events.isEmpty)
    }

    @Test("Messages that wait keep the loop from sleeping, until they are collected")
    func awake() {
        let mailbox = Mailbox<Int>()
        mailbox.post(1)
        #expect(!mailbox.prepareToSleep())
        var messages: [Int] = []
        mailbox.collect(&messages)
        #expect(mailbox.prepareToSleep())
    }

    @Test("A closed mailbox returns what it has, and accepts nothing more")
    func closed() {
        let mailbox = Mailbox<Int>()
        mailbox.post(1)
        #expect(mailbox.close() == [1])
        #expect(!mailbox.post(2))
        #expect(mailbox.close().isEmpty)
    }
}
