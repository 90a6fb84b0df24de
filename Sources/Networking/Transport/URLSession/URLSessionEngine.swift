import Dispatch
import Foundation
import FoundationNetworking
import Synchronization

/// The owner of the requests, which drives URLSession from a private queue.
///
/// All tasks are created, cancelled and reported on that queue, never on a thread that URLSession
/// or a cancelled Swift task waits for. This keeps cancellation from blocking the session. The
/// session retains its delegate, this object, until ``close(_:)``. The asynchronous methods of
/// `URLSession` block all sessions after a cancellation or never return (swift-corelibs-foundation
/// 5412, 5456), and with its cache, cancellation can crash the process (3296).
///
/// `@unchecked Sendable` is safe because only `queue` accesses variables after initialization.
final class URLSessionEngine: NSObject, @unchecked Sendable, URLSessionDataDelegate {
    private let queue = DispatchQueue(label: "URLSessionTransport")
    private var session: URLSession?
    private var exchanges: [UInt64: URLSessionExchange] = [:]
    /// By URLSession's task identifiers.
    private var identifiers: [Int: UInt64] = [:]
    private var line: ExchangeQueue

    init(configuration: URLSessionConfiguration) {
        let settings = configuration.copy() as? URLSessionConfiguration ?? .ephemeral
        settings.urlCache = nil
        settings.urlCredentialStorage = nil
        settings.httpCookieStorage = nil
        settings.httpShouldSetCookies = false
        line = ExchangeQueue(maximumPerOrigin: settings.httpMaximumConnectionsPerHost, maximum: .max)
        super.init()
        let delegateQueue = OperationQueue()
        delegateQueue.maxConcurrentOperationCount = 1
        session = URLSession(configuration: settings, delegate: self, delegateQueue: delegateQueue)
    }

    /// Guarantees an outcome.
    func submit(
        _ submission: URLSessionSubmission,
        _ receiver: URLSessionExchange.Receiver,
        givingUp giveUp: (@Sendable () -> Void)?
    ) {
        queue.async { [self] in
            let exchange = URLSessionExchange(submission: submission, receiver: receiver, givingUp: giveUp)
            guard session != nil else { return exchange.end(NetworkError.transportClosed) }
            guard !submission.isCancelled else { return exchange.end(CancellationError()) }
            exchanges[submission.identifier] = exchange
            line.append(submission.identifier, origin: submission.origin)
            check(submission.identifier)
            admit()
        }
    }

    /// The request may have ended already or not have arrived yet.
    func cancel(_ identifier: UInt64) {
        queue.async { [self] in fail(identifier, CancellationError()) }
    }

    func close(_ handler: @escaping @Sendable () -> Void) {
        queue.async { [self] in
            let session = session
            self.session = nil
            for identifier in Array(exchanges.keys) { fail(identifier, NetworkError.transportClosed) }
            session?.finishTasksAndInvalidate()
            handler()
        }
    }

    /// Activity in the meantime only postpones the timeout.
    private func check(_ identifier: UInt64) {
        guard let exchange = exchanges[identifier], !exchange.hasEnded else { return }
        exchange.alarm?.cancel()
        let (failure, next) = exchange.timeout(at: .now)
        if let failure { return fail(identifier, failure) }
        guard let next else { return }
        let alarm = DispatchWorkItem { [weak self] in self?.check(identifier) }
        exchange.alarm = alarm
        let delay = DispatchTimeInterval.milliseconds((next - .now).milliseconds)
        queue.asyncAfter(deadline: .now() + delay, execute: alarm)
    }

    private func admit() {
        guard let session else { return }
        while let identifier = line.next(where: { exchanges[$0] != nil }) {
            guard let exchange = exchanges[identifier] else { continue }
            let task = session.dataTask(with: exchange.submission.request)
            identifiers[task.taskIdentifier] = identifier
            exchange.start(task)
            task.resume()
            check(identifier)
        }
    }

    /// The request counts until URLSession releases it.
    private func fail(_ identifier: UInt64, _ error: any Error) {
        guard let exchange = exchanges[identifier], !exchange.hasEnded else { return }
        exchange.end(error)
        if let task = exchange.task {
            task.cancel()
        } else {
            exchanges[identifier] = nil
        }
    }

    private func withExchange(of task: URLSessionTask, _ body: @escaping @Sendable (URLSessionExchange) -> Void) {
        let task = task.taskIdentifier
        queue.async { [self] in
            if let exchange = identifiers[task].flatMap({ exchanges[$0] }) { body(exchange) }
        }
    }

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        withExchange(of: dataTask) { $0.receive(response) }
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        withExchange(of: dataTask) { [self] exchange in
            if let error = exchange.receive(data) { fail(exchange.submission.identifier, error) }
        }
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        withExchange(of: task) { exchange in
            // FoundationNetworking crashes if this is called after a cancellation.
            if !exchange.hasEnded { completionHandler(nil) }
        }
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        withExchange(of: task) { exchange in
            guard !exchange.hasEnded else { return }
            exchange.hasRefusedChallenge = true
            completionHandler(.cancelAuthenticationChallenge, nil)
        }
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        // Called when libcurl resends a request after its kept connection died.
        // FoundationNetworking wouldn't restart the body, and the peer would wait forever for the
        // rest.
        completionHandler(nil)
        withExchange(of: task) { [self] exchange in
            fail(exchange.submission.identifier, NetworkError.repetitionImpossible(exchange.submission.origin))
        }
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        withExchange(of: task) { $0.noteSent(Int(totalBytesSent)) }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let response = task.response
        let task = task.taskIdentifier
        queue.async { [self] in
            guard let identifier = identifiers.removeValue(forKey: task),
                let exchange = exchanges.removeValue(forKey: identifier)
            else { return }
            // The delegate isn't called for a response with a redirect status but no Location.
            if error == nil { exchange.receive(response) }
            exchange.end(exchange.failure(error))
            line.release(exchange.submission.origin)
            admit()
        }
    }
}

/// A request in URLSession's terms, shared by the caller's task and the engine.
final class URLSessionSubmission: Sendable {
    let identifier: UInt64
    let request: URLRequest
    let origin: HTTPOrigin
    let limits: HTTPTransportLimits
    let observer: (@Sendable (HTTPTransportEvent) -> Void)?
    let submitted: Moment
    private let cancellation = Atomic<Bool>(false)

    init(
        identifier: UInt64,
        request: HTTPRequest,
        limits: HTTPTransportLimits,
        maximumRequestBodySize: Int
    ) async throws {
        submitted = .now
        let origin = try request.validate()
        try NetworkError.require(
            request.method != .get || request.body.contentLength == 0,
            "URLSession can't send a GET request with a body; use CurlTransport"
        )
        self.identifier = identifier
        self.origin = origin
        self.limits = limits
        observer = request.observer
        // The session's timer has a resolution of one second and includes the time in the queue, so
        // the engine keeps the time instead.
        var result = URLRequest(url: request.url, timeoutInterval: 86_400)
        result.httpMethod = request.method.rawValue
        for field in request.headers where !field.name.equalsIgnoringASCIICase("Content-Length") {
            result.addValue(field.value, forHTTPHeaderField: field.name)
        }
        let octets = try await Self.octets(
            of: request.body,
            to: origin,
            upTo: maximumRequestBodySize,
            limits: limits
        )
        if let octets, !octets.isEmpty { result.httpBody = octets }
        self.request = result
    }

    /// The task may be cancelled before the engine received the request.
    var isCancelled: Bool { cancellation.load(ordering: .acquiring) }

    func cancel() {
        cancellation.store(true, ordering: .releasing)
    }

    /// Reads a body into memory; returns `nil` without one.
    ///
    /// FoundationNetworking crashes if a file upload is cancelled or answered early while it reads
    /// (`EasyHandle.swift`, `setState`). Its body streams block all sessions while they wait. Only
    /// data in memory is safe.
    ///
    /// Stops at once when the task is cancelled or the deadline passes, even if the body's producer
    /// doesn't.
    private static func octets(
        of body: HTTPBody,
        to origin: HTTPOrigin,
        upTo maximumSize: Int,
        limits: HTTPTransportLimits
    ) async throws -> Data? {
        switch body.source {
        case .none: return nil
        case .data(let data): return data
        case .file, .stream: break
        }
        let tooLarge = NetworkError(
            .invalidRequest,
            "URLSessionTransport holds request bodies in memory, and this one exceeds \(maximumSize) bytes; "
                + "raise maximumRequestBodySize or use CurlTransport"
        )
        // The first outcome ends the stream, and so does the cancellation of this task.
        let (outcomes, outcome) = AsyncThrowingStream<Data, any Error>.makeStream()
        let working = Task {
            do {
                outcome.yield(try await body.collect(upTo: maximumSize, otherwise: tooLarge))
                outcome.finish()
            } catch {
                outcome.finish(throwing: error)
            }
        }
        let timer = limits.deadline.map { deadline in
            Task {
                do { try await TimeSource.system.sleep(deadline - .now) } catch { return }
                outcome.finish(throwing: NetworkError.timedOut(.deadline, of: limits, .preparing, origin))
            }
        }
        defer {
            working.cancel()
            timer?.cancel()
        }
        for try await octets in outcomes { return octets }
        throw CancellationError()
    }
}
