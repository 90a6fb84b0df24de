import Foundation
import Networking
import Synchronization

/// What servers say in passing: the nonce that the next DPoP proof needs, and how late it is.
///
/// An authorization server's and a resource's are kept apart, each by origin; the latest hundred.
final class DPoPServerState: Sendable {
    /// What one server has said.
    private struct Hints {
        var nonce: String?
        /// How much the server's clock is ahead.
        var skew = Duration.zero
        var used: UInt64
    }

    private struct State {
        var hints: [HTTPOrigin: Hints] = [:]
        var uses: UInt64 = 0
    }

    private static let capacity = 100
    /// What clocks may differ by without anything being done: a `Date` has whole seconds, and answers take time.
    static let tolerance = Duration.seconds(5)

    private let state = Mutex(State())
    private let timeSource: TimeSource
    private let journal: TokenJournal

    init(timeSource: TimeSource, journal: TokenJournal) {
        self.timeSource = timeSource
        self.journal = journal
    }

    /// The nonce that a server wants.
    func nonce(for origin: HTTPOrigin) -> String? {
        state.withLock { $0.hints[origin]?.nonce }
    }

    /// The time by a server's clock.
    func date(for origin: HTTPOrigin) -> Date {
        let skew = skew(for: origin)
        return skew == .zero ? timeSource.date() : timeSource.date().addingTimeInterval(skew / .seconds(1))
    }

    /// How much a server's clock is ahead of ours, if that is more than can be put up with.
    func skew(for origin: HTTPOrigin) -> Duration {
        state.withLock { $0.hints[origin]?.skew } ?? .zero
    }

    /// Takes what an answer says.
    ///
    /// - Parameters:
    ///   - headers: The answer's header fields.
    ///   - url: Who answered.
    ///   - age: The time since the request was sent, at most; `nil` if that is not known.
    func note(_ headers: HTTPHeaders, from url: URL, age: Duration?) {
        guard let origin = HTTPOrigin(url) else { return }
        let nonce = headers["DPoP-Nonce"].flatMap { Self.isNonce($0) ? $0 : nil }
        let sample = age.flatMap { measuredSkew(headers, age: $0) }
        guard nonce != nil || sample != nil else { return }
        let (isNewNonce, newSkew) = state.withLock { state -> (Bool, Duration?) in
            state.uses += 1
            var hints = state.hints[origin] ?? Hints(used: state.uses)
            hints.used = state.uses
            let isNewNonce = nonce != nil && nonce != hints.nonce
            if let nonce { hints.nonce = nonce }
            var newSkew: Duration?
            if let sample {
                let skew = sample.size >= Self.tolerance ? sample : .zero
                // What comes and goes with the second that a `Date` is cut to is no change.
                if (skew == .zero) != (hints.skew == .zero) || (skew - hints.skew).size > Self.tolerance {
                    newSkew = skew
                    hints.skew = skew
                }
            }
            state.hints[origin] = hints
            if state.hints.count > Self.capacity, let oldest = state.hints.min(by: { $0.value.used < $1.value.used }) {
                state.hints[oldest.key] = nil
            }
            return (isNewNonce, newSkew)
        }
        if isNewNonce { journal.add(.nonceUpdated(origin: origin.description)) }
        if let newSkew { journal.add(.skewChanged(origin: origin.description, newSkew)) }
    }

    /// How much the server's clock is ahead, by its `Date` halfway between request and answer.
    ///
    /// That is wrong by half of the time between the two at most: too much if it is long, unless the clocks are apart by far more.
    private func measuredSkew(_ headers: HTTPHeaders, age: Duration) -> Duration? {
        guard headers["Age"] == nil, let text = headers["Date"] else { return nil }
        let now = timeSource.date()
        guard let date = HTTPDate.parse(text, now: now) else { return nil }
        let middle = now.addingTimeInterval(-(age / .seconds(1)) / 2)
        // Half a second: a `Date` is cut to whole ones.
        let skew = Duration.milliseconds(Int64(((date.timeIntervalSince(middle) + 0.5) * 1_000).rounded()))
        return age <= .seconds(5) || age * 10 <= skew.size ? skew : nil
    }

    /// The syntax of [RFC 9449 §8.1](https://www.rfc-editor.org/rfc/rfc9449#section-8.1), at most a kilobyte of it.
    private static func isNonce(_ text: String) -> Bool {
        (1...1_024).contains(text.utf8.count)
            && text.utf8.allSatisfy { $0 == 0x21 || (0x23...0x5B).contains($0) || (0x5D...0x7E).contains($0) }
    }
}

extension Duration {
    /// The duration without its sign.
    fileprivate var size: Duration { self < .zero ? .zero - self : self }
}
