import Foundation
internal import OpenSSLCrypto

/// One run of a download, from its start or resumption to its end or a pause.
struct DownloadRun: Sendable {
    let client: NetworkClient
    let resource: Resource
    let target: DownloadTarget
    let options: DownloadOptions
    let core: TransferCore<DownloadedFile>
    let remains: DownloadResumeState

    func run() async throws -> DownloadedFile {
        try await client.transferQueue.withTurn {
            core.noteTurn()
            let first = try await firstRequest()
            let part = try await offloading { try openPart(for: first) }
            defer { part.unlock() }
            let resumed = part.resumePoint?.offset ?? 0
            core.move(to: part.count, of: part.total)
            do {
                let response = try await receive(into: part, canResume: first.method == .get)
                let file = try await commit(part, response, resumed: resumed)
                remains.data = nil
                return file
            } catch {
                await suspend(part, after: error)
                throw error
            }
        }
    }

    // MARK: The part file

    private func firstRequest() async throws -> HTTPRequest {
        do {
            try target.check()
            return try await resource.makeBase()
        } catch let error as any ErrorWithCode {
            throw error
        } catch {
            try Task.checkCancellation()
            throw NetworkError(.requestNotMade, "creating the request failed; nothing was sent", cause: error)
        }
    }

    private func openPart(for request: HTTPRequest) throws -> PartFile {
        let identity = Self.identity(of: request.url)
        let resource = options.resumeData?.resource ?? identity
        let path = target.partPath(resource: identity)
        let partPath = options.resumeData?.partPath ?? path
        guard Self.folder(partPath) == Self.folder(path) else {
            throw NetworkError(.invalidRequest, "the resume data is for another folder; nothing was sent")
        }
        PartFile.removeLeftover(partPath)
        if let path = target.path { try options.existing.check(path) }
        return try PartFile(path: partPath, name: target.name, resource: resource)
    }

    private static func folder(_ path: String) -> String { (path as NSString).deletingLastPathComponent }

    /// Returns the identifier of a URL on the disk.
    private static func identity(of url: URL) -> String {
        let digest = try? Array(url.absoluteString.utf8).withBytes { bytes throws(CryptoError) in
            try HashFunction.sha256.hash(bytes)
        }
        return (digest ?? []).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    private func suspend(_ part: PartFile, after error: any Error) async {
        let code = (error as? NetworkError)?.code
        let isWrong = [.rangeMismatch, .digestMismatch, .digestMissing, .digestUnverifiable, .invalidField]
            .contains(code)
        let data = try? await offloading { () -> Download.ResumeData? in
            if isWrong { part.remove() } else { part.suspend() }
            return part.record.map {
                Download.ResumeData(partPath: part.path, resource: $0.resource, count: part.count, total: $0.total)
            }
        }
        remains.data = data ?? nil
    }

    private func commit(_ part: PartFile, _ response: HTTPResponse, resumed: Int) async throws -> DownloadedFile {
        let (target, options) = (target, options)
        let path = try await offloading {
            try verify(part, response)
            let mode = UInt32(truncatingIfNeeded: options.permissions & 0o777)
            return try part.commit(to: target.path(for: response), existing: options.existing, mode: mode)
        }
        return DownloadedFile(url: URL(filePath: path), response: response, length: part.count, resumedFrom: resumed)
    }

    private func verify(_ part: PartFile, _ response: HTTPResponse) throws {
        let digests = try expectedDigests(part, response)
        guard try digests.isEmpty || digests.allMatch(part.digest(by: digests.algorithms, in: 0..<part.count)) else {
            throw NetworkError(.digestMismatch, "the digest of “\(part.name)” doesn't match; the file was deleted")
        }
    }

    private func expectedDigests(_ part: PartFile, _ response: HTTPResponse) throws -> [HTTPDigest] {
        if case .known(let digest) = options.digest { return [digest] }
        guard options.digest.usesOffers else { return [] }
        let offers = try response.offeredDigests
        if !offers.isEmpty {
            guard !response.isDecoded else {
                throw NetworkError(
                    .digestUnverifiable,
                    "the digest of “\(part.name)” is about its coded content, which was decoded although the request "
                        + "accepts no coding; the file was deleted. Use the digest “unchecked” to skip the check"
                )
            }
            return offers
        }
        if let first = try part.record?.digest.flatMap({ try HTTPDigest(parsing: [$0]) }) { return [first] }
        guard options.digest != .required else {
            throw NetworkError(
                .digestMissing,
                "the server offers no SHA-256 or SHA-512 digest of “\(part.name)”, which is required; "
                    + "the file was deleted"
            )
        }
        return []
    }

    // MARK: Requests

    /// Receives the file, with one deadline and one retry history for all requests.
    private func receive(into part: PartFile, canResume: Bool) async throws -> HTTPResponse {
        let exchange = DownloadExchange(self, part: part, canResume: canResume)
        var resource = resource
        resource.options = options.request.forTransfer(maximumBodySize: Int.max)
        resource.interceptors.append(exchange)
        let loop = AttemptLoop(
            client: client,
            resource: resource,
            delivery: .received { try await exchange.receive($0) }
        )
        var response = try await loop.run { try await exchange.request() }
        response.trailers = exchange.trailers
        return response
    }
}

extension RequestOptions {
    /// Returns the options with the defaults of a transfer: no timeout for the whole transfer, and
    /// an idle timeout.
    func forTransfer(maximumBodySize size: Int?) -> Self {
        var options = self
        // Practically never, but still an instant that a clock can represent.
        options.timeout = timeout ?? .seconds(86_400 * 3650)
        options.idleTimeout = idleTimeout ?? .seconds(60)
        options.maximumBodySize = maximumBodySize ?? size
        return options
    }
}

extension HTTPRequest {
    /// Returns the request without the default timeout of `URLRequest`, because a transfer may take
    /// longer.
    func withoutDefaultTimeout() -> Self {
        guard timeout == .seconds(60) else { return self }
        var request = self
        request.timeout = nil
        return request
    }
}
