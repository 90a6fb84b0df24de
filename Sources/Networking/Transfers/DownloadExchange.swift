import Foundation
import Synchronization

/// The requests and responses of one run of a download, and the checks that they match.
///
/// As a voter, it restarts the download once if the server rejects a range.
final class DownloadExchange: RetryVoter {
    private typealias Asked = (offset: Int, validator: ResumeValidator)

    private struct State {
        /// The range of the latest request, or `nil` if it requested everything.
        var asked: Asked?
        var mustRestart = false
        var trailers: HTTPHeaders = [:]
    }

    private let run: DownloadRun
    private let part: PartFile
    private let canResume: Bool
    private let state = Mutex(State())

    init(_ run: DownloadRun, part: PartFile, canResume: Bool) {
        self.run = run
        self.part = part
        self.canResume = canResume
    }

    var trailers: HTTPHeaders { state.withLock(\.trailers) }

    /// Accepts no content coding, because a range of a coded representation doesn't correspond to
    /// the bytes in the file.
    func request() async throws -> HTTPRequest {
        try await restart()
        var request = try await run.resource.makeBase().withoutDefaultTimeout()
        guard request.headers["Range"] == nil else {
            throw NetworkError(.invalidRequest, "a download sets the Range header field itself; remove it")
        }
        request.headers["Accept-Encoding"] = "identity"
        if run.options.digest == .required {
            let wanted = HTTPDigest.Preferences(HTTPDigest.Algorithm.allCases)
            request.headers.setDefault(HTTPDigest.Field.representation.preferenceName, wanted.fieldValue)
        }
        guard canResume, let (offset, validator) = part.resumePoint, offset > 0 else {
            state.withLock { $0.asked = nil }
            return request
        }
        request.headers["Range"] = "bytes=\(offset)-"
        request.headers["If-Range"] = validator.value
        state.withLock { $0.asked = (offset, validator) }
        return request
    }

    /// Asks for a retry from the start, once, if the server rejects the range.
    func evaluateFailedRequest(_ failure: FailedRequest) async -> Retry.Action {
        let isFirst = !failure.context.retryState.errors.contains(where: Self.isRangeRefusal)
        guard Self.isRangeRefusal(failure.error), isFirst else {
            return .none
        }
        return state.withLock { state in
            guard state.asked != nil else { return .none }
            state.mustRestart = true
            return .retry
        }
    }

    private static func isRangeRefusal(_ error: any Error) -> Bool { (error as? ServerError)?.errorCode == 416 }

    private func restart() async throws {
        let mustRestart = state.withLock { state in
            defer { state.mustRestart = false }
            return state.mustRestart
        }
        guard mustRestart else { return }
        let part = part
        try await offloading { try part.begin(nil) }
        run.core.move(to: 0, of: nil)
    }

    func receive(_ response: HTTPResponse) async throws {
        let asked = state.withLock(\.asked)
        let part = part
        switch (response.status, asked) {
        case (206, nil):
            response.stream.cancel()
            throw mismatch("a part of the resource, but the client requested all of it")
        case (206, let asked?):
            let range = try checkedRange(response, asked)
            // Bytes beyond the offset are requested again.
            try await offloading { try part.truncate(to: asked.offset) }
            try await store(response.stream, upTo: range.range.upperBound + 1, of: part.total)
            try await checkPart(response, asked.offset..<range.range.upperBound + 1)
        case (let status, _):
            guard run.resource.traits.acceptedStatuses.isFile(status) else {
                response.stream.cancel()
                throw ServerError(
                    endpoint: response.url.pathComponents.last,
                    errorCode: status,
                    headers: response.headers
                )
            }
            let length = response.headers["Content-Length"].flatMap { Int($0) }
            let record = record(response, length)
            try await offloading { try part.begin(record) }
            try await store(response.stream, upTo: length, of: length)
        }
    }

    /// Resuming requires a length and a strong validator.
    private func record(_ response: HTTPResponse, _ length: Int?) -> PartFile.Record? {
        guard canResume, response.status == 200, let length, length > 0,
            let validator = ResumeValidator(response.headers),
            response.headers["Accept-Ranges"]?.equalsIgnoringASCIICase("none") != true
        else { return nil }
        return PartFile.Record(
            resource: part.resource,
            validator: validator,
            total: length,
            synchronized: 0,
            boot: PartFile.boot,
            digest: response.isDecoded ? nil : (try? response.offeredDigests)?.first?.fieldValue
        )
    }

    private func checkPart(_ response: HTTPResponse, _ range: Range<Int>) async throws {
        guard run.options.digest.usesOffers, !response.isDecoded,
            let digest = try HTTPDigest(.content, in: response.headers) ?? HTTPDigest(.content, in: trailers)
        else { return }
        let part = part
        let computed = try await offloading { try part.digest(by: digest.algorithms, in: range) }
        guard computed == digest else {
            throw NetworkError(.digestMismatch, "the digest of a part of “\(part.name)” doesn't match; it was deleted")
        }
    }

    private func checkedRange(_ response: HTTPResponse, _ asked: Asked) throws -> ContentRange {
        func refuse(_ what: String) -> NetworkError {
            response.stream.cancel()
            return mismatch(what)
        }
        let fields = response.headers.values(for: "Content-Range")
        guard fields.count == 1, let range = ContentRange(fields[0]) else {
            throw refuse("a part of the resource without a valid Content-Range")
        }
        guard range.range.lowerBound == asked.offset else {
            throw refuse("bytes from \(range.range.lowerBound) instead of \(asked.offset)")
        }
        let total = part.total
        guard range.total ?? total == total, range.range.upperBound < total ?? .max else {
            throw refuse("a part of a resource whose length has changed")
        }
        if let length = response.headers["Content-Length"].flatMap({ Int($0) }), length != range.range.count {
            throw refuse("a part whose length differs from its Content-Range")
        }
        guard !asked.validator.isContradicted(by: response.headers) else {
            throw refuse("a part of a changed resource")
        }
        return range
    }

    private func mismatch(_ what: String) -> NetworkError {
        NetworkError(.rangeMismatch, "the server sent \(what); its part was deleted, so start the download again")
    }

    private func store(_ body: HTTPResponseBody, upTo end: Int?, of total: Int?) async throws {
        run.core.move(to: part.count, of: total)
        try await offloading {
            for try await octets in body {
                if let end, octets.count > end - part.count {
                    body.cancel()
                    throw mismatch("more bytes than it declared")
                }
                try part.append(octets)
                run.core.move(to: part.count, of: total)
            }
        }
        state.withLock { $0.trailers = body.trailers }
        if let end, part.count < end {
            throw NetworkError(.connectionLost, "the response ended after \(part.count) of \(end) bytes")
        }
        // A part of the range counts as a retry, so that a server can't keep a download alive.
        if let total, part.count < total {
            throw NetworkError(.connectionLost, "the server sent only the bytes up to \(part.count) of \(total)")
        }
    }
}

extension AcceptedStatuses {
    /// Without statuses of the application's own, the file is the content of 200, and of 203
    /// ([RFC 9110 §15.3.4](https://www.rfc-editor.org/rfc/rfc9110#section-15.3.4)).
    fileprivate func isFile(_ status: Int) -> Bool {
        guard self == .successful else { return ![204, 205, 304].contains(status) }
        return status == 200 || status == 203
    }
}

/// The strong validator that shows that two responses have identical bytes, so that one can
/// continue the other.
///
/// Weak validators aren't sufficient, because they only promise the same meaning
/// ([RFC 9110 §8.8.1](https://www.rfc-editor.org/rfc/rfc9110#section-8.8.1)).
struct ResumeValidator: Codable, Hashable, Sendable {
    /// The value of `If-Range`
    /// ([RFC 9110 §13.1.5](https://www.rfc-editor.org/rfc/rfc9110#section-13.1.5)).
    let value: String

    /// A `Last-Modified` is strong if the response's date is so much later that a second change in
    /// the same second is impossible, even with clock differences ([RFC 9110
    /// §8.8.2.2](https://www.rfc-editor.org/rfc/rfc9110#section-8.8.2.2)); it only counts without
    /// an entity tag.
    init?(_ headers: HTTPHeaders) {
        if let tag = headers["ETag"] {
            guard Self.isStrongTag(tag) else { return nil }
            value = tag
        } else {
            guard let modified = headers["Last-Modified"], let date = headers["Date"],
                let change = HTTPDate.parse(modified, now: Date()), let answer = HTTPDate.parse(date, now: Date()),
                answer.timeIntervalSince(change) >= 60
            else { return nil }
            value = modified
        }
    }

    func isContradicted(by headers: HTTPHeaders) -> Bool {
        let isTag = value.utf8.first == UInt8(ascii: "\"")
        guard let other = headers[isTag ? "ETag" : "Last-Modified"] else { return false }
        return !other.utf8.elementsEqual(value.utf8)
    }

    private static func isStrongTag(_ text: String) -> Bool {
        let octets = text.utf8
        guard octets.count >= 2, octets.first == 0x22, octets.last == 0x22 else { return false }
        return octets.dropFirst().dropLast().allSatisfy { $0 == 0x21 || (0x23...0x7E).contains($0) || $0 >= 0x80 }
    }
}

/// [RFC 9110 §14.4](https://www.rfc-editor.org/rfc/rfc9110#section-14.4).
struct ContentRange: Equatable {
    let range: ClosedRange<Int>
    /// `nil` if the server doesn't know the length of the whole representation.
    let total: Int?
}

extension ContentRange {
    /// Returns `nil` for anything but a satisfied byte range, and for contradictions.
    init?(_ text: String) {
        let parts = text.asciiOnly.split(separator: " ", omittingEmptySubsequences: true)
        guard parts.count == 2, parts[0].lowercased() == "bytes" else { return nil }
        let sides = parts[1].split(separator: "/", omittingEmptySubsequences: false)
        guard sides.count == 2 else { return nil }
        let ends = sides[0].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]), first <= last else {
            return nil
        }
        range = first...last
        if sides[1] == "*" {
            total = nil
        } else {
            guard let total = Self.number(sides[1]), last < total else { return nil }
            self.total = total
        }
    }

    /// Unlike for `Int.init`, the text can't have a sign.
    private static func number(_ text: Substring) -> Int? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int(text)
    }
}
