import Foundation
import FoundationNetworking
import Synchronization

/// The requests and responses of one operation of a download, and the checks that they match.
final class DownloadExchange: Sendable {
    private typealias Asked = (offset: Int, validator: ResumeValidator)

    private struct State {
        /// The range of the latest request, or `nil` if it requested everything.
        var asked: Asked?
        var isIncomplete = false
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

    /// A Boolean value that indicates whether the download needs another request without a failure,
    /// because the server rejected the range or sent only a part of it.
    var isIncomplete: Bool { state.withLock(\.isIncomplete) }
    /// The trailer fields of the last response.
    var trailers: HTTPHeaders { state.withLock(\.trailers) }

    /// Returns the request for the missing part.
    ///
    /// It accepts no content coding, because a range of a coded representation doesn't correspond
    /// to the bytes in the file.
    func urlRequest() async throws -> AttemptLoop.Base {
        let base = try await run.resource.makeBase()
        var request = base.request.withoutDefaultTimeout()
        guard request.value(forHTTPHeaderField: "Range") == nil else {
            throw NetworkError(.invalidRequest, "a download sets the Range header field itself; remove it")
        }
        request.setValue("identity", forHTTPHeaderField: "Accept-Encoding")
        if run.options.digest == .required {
            let wanted = HTTPDigest.Preferences(HTTPDigest.Algorithm.allCases)
            request.setDefaultField(HTTPDigest.Field.representation.preferenceName, wanted.fieldValue)
        }
        guard canResume, let (offset, validator) = part.resumePoint, offset > 0 else {
            state.withLock { $0.asked = nil }
            return (request, base.body)
        }
        request.setValue("bytes=\(offset)-", forHTTPHeaderField: "Range")
        request.setValue(validator.value, forHTTPHeaderField: "If-Range")
        state.withLock { $0.asked = (offset, validator) }
        return (request, base.body)
    }

    func receive(_ response: HTTPResponse) async throws {
        let asked = state.withLock(\.asked)
        let part = part
        switch (response.status, asked) {
        case (416, nil):
            throw ServerError(endpoint: response.url.pathComponents.last, errorCode: 416, headers: response.headers)
        case (416, _):
            response.stream.cancel()
            try await offloading { try part.begin(nil) }
            run.core.move(to: 0, of: nil)
            state.withLock { $0.isIncomplete = true }
        case (206, nil):
            response.stream.cancel()
            throw mismatch("a part of the resource, but the client requested all of it")
        case (206, let asked?):
            let range = try checkedRange(response, asked)
            // Bytes beyond the offset are requested again.
            try await offloading { try part.truncate(to: asked.offset) }
            try await store(response.stream, upTo: range.range.upperBound + 1, of: part.total)
            try await checkPart(response, asked.offset..<range.range.upperBound + 1)
        default:
            let length = response.headers["Content-Length"].flatMap { Int($0) }
            let record = record(response, length)
            try await offloading { try part.begin(record) }
            try await store(response.stream, upTo: length, of: length)
        }
    }

    /// Returns the record for resuming later, which requires a length and a strong validator.
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

    /// Verifies the digest of a response's content, which is a part of the file.
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
        if let total, part.count < total { state.withLock { $0.isIncomplete = true } }
    }
}
