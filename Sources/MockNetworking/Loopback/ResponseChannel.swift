import Foundation
import Synchronization
import SystemIO

/// The channel for the bytes of one response, which enforces the response's cut.
final class ResponseChannel: Sendable {
    private struct Budget: Sendable {
        var octets: Int
        var ending: ResponseEnding
    }

    private let exchange: Exchange
    private let budget = Mutex<Budget?>(nil)
    private let closing: ResponseEnding

    /// Creates a channel that may omit the close_notify when closing the connection.
    init(_ exchange: Exchange, truncates: Bool) {
        self.exchange = exchange
        closing = truncates ? .truncate : .close
    }

    /// Limits the channel to the bytes before the cut.
    func limit(to cut: LoopbackResponse.Cut?, headSize: Int) {
        guard let cut else { return }
        let octets =
            switch cut.point {
            case .beforeHead: 0
            case .afterHead: headSize
            case .afterBody(let count): headSize + count
            case .after(let count): count
            }
        budget.withLock { $0 = Budget(octets: max(octets, 0), ending: cut.resets ? .reset : .close) }
    }

    /// Sends bytes, and waits until the kernel has accepted them.
    func send(_ bytes: Data) async throws {
        let (admitted, ending) = admit(bytes)
        try await exchange.mailbox.send(exchange.id, admitted)
        if let ending {
            post(Data(), ending)
            throw MockError.connectionEnded
        }
    }

    /// Sends the last bytes.
    func finish(_ bytes: Data, _ ending: ResponseEnding) {
        let (admitted, cutEnding) = admit(bytes)
        // A response that's shorter than the cut also ends there.
        post(admitted, cutEnding ?? budget.withLock { $0?.ending } ?? ending)
    }

    /// Closes the connection, because the response can't be completed.
    func abandon() {
        post(Data(), .close)
    }

    private func post(_ bytes: Data, _ ending: ResponseEnding) {
        let ending = if case .close = ending { closing } else { ending }
        exchange.mailbox.post(.send(exchange.id, bytes, ending: ending, nil))
    }

    private func admit(_ bytes: Data) -> (Data, ResponseEnding?) {
        budget.withLock { budget in
            guard let (octets, ending) = budget.map({ ($0.octets, $0.ending) }) else { return (bytes, nil) }
            guard bytes.count >= octets else {
                budget?.octets -= bytes.count
                return (bytes, nil)
            }
            budget?.octets = 0
            return (bytes.prefix(octets), ending)
        }
    }
}
