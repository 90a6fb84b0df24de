public import Foundation
internal import OpenSSLCrypto

/// A resumable download to a file.
///
/// ```swift
/// let download = client.download(url, to: .file(archive))
/// for await progress in download.progress {
///     print(progress.fractionCompleted ?? 0)
/// }
/// let file = try await download.value
/// ```
///
/// The download begins at once, or when the client's limit permits (see
/// ``NetworkClient/Options/maximumTransfers``). It writes to a hidden file next to the target,
/// which only the process's owner can read. Once all bytes have arrived, and their digest is
/// correct if one is known, the file gets the target's name in a single step. The target never
/// contains an incomplete file.
///
/// After a pause or a failure, or in another process that downloads the same URL to the same
/// target, the download continues where it stopped. This requires that the server supports range
/// requests ([RFC 9110 §14](https://www.rfc-editor.org/rfc/rfc9110#section-14)) and sent the length
/// and a strong validator (an `ETag`, or a `Last-Modified` from a while ago). If the resource has
/// changed or the server doesn't support ranges, the download starts over. If the server rejects a
/// range with 416, the download starts over once. The attempts of the client's ``Retry/Policy``
/// also request only the missing part, including those after a response with less than was asked
/// for. A response with another successful status than 200, 203 or 206 isn't the file, unless the
/// endpoint accepts it.
///
/// The handle owns the download. Releasing its last reference cancels the download, unless a task
/// awaits ``value`` or reads ``progress``. The bytes received so far are kept for a later download.
public final class Download: Transfer {
    /// A number that's unique among the client's transfers and increases with each transfer.
    public var id: UInt64 { core.id }
    private let core: TransferCore<DownloadedFile>

    init(core: TransferCore<DownloadedFile>) {
        self.core = core
    }

    deinit {
        core.cancel()
    }

    /// The file, once the download has completed.
    ///
    /// Canceling the awaiting task cancels the download.
    ///
    /// - Throws: ``ServerError`` for a status that isn't accepted or isn't the file.
    ///   ``NetworkError`` with the code `fileExists`, `cannotUseFile`, `transferInProgress`,
    ///   `rangeMismatch`, `digestMismatch`, `digestMissing` or `digestUnverifiable`, `invalidField`
    ///   if a digest is malformed, or the error of the last attempt. `CancellationError` if the
    ///   download was canceled.
    public var value: DownloadedFile {
        get async throws { try await core.value() }
    }

    /// The current progress.
    public var currentProgress: TransferProgress { core.progress }

    /// The current progress, then each update until the end; see ``Transfer/progress``.
    public var progress: AsyncStream<TransferProgress> { core.updates(of: self) }

    /// Pauses the download until ``resume()``.
    ///
    /// The download gives up its connection and its turn. If it can't be resumed, it starts over.
    /// Has no effect on a paused or finished download.
    public func pause() { core.pause() }

    /// Resumes a paused download; has no effect otherwise.
    public func resume() { core.resume() }

    /// Cancels the download, if it hasn't ended, and waits for its end.
    public func cancel() async { await core.end() }

    /// The data to resume from in another download, after a pause, a cancellation or a failure;
    /// `nil` if it doesn't exist or the file is complete.
    ///
    /// Discard it when you no longer need it.
    public var resumeData: ResumeData? { core.resumeData }
}

/// A downloaded file.
public struct DownloadedFile: Sendable {
    /// The file's URL.
    public let url: URL
    /// The head of the response that completed the download.
    ///
    /// After an interruption, it has the status 206 and describes a range.
    public let response: HTTPResponse
    /// The length of the file in bytes.
    public let length: Int
    /// The number of bytes that already existed when the download began or was last resumed.
    public let resumedFrom: Int
}

extension Download {
    /// The part of a download that's kept for resuming it later.
    public struct ResumeData: Sendable, Hashable, Codable {
        let partPath: String
        let resource: String
        let count: Int
        let total: Int

        package var completedBytes: Int { count }
        package var totalBytes: Int { total }

        /// Removes the files of the partial download.
        public func discard() {
            try? FileManager.default.removeItem(atPath: partPath + ".resume")
            try? FileManager.default.removeItem(atPath: partPath)
        }
    }
}

extension NetworkClient {
    /// Downloads a resource to a file.
    ///
    /// - Parameters:
    ///   - source: A URL, a request, an endpoint or a resource. The options replace a resource's
    ///     own. A `timeoutInterval` of 60 seconds, the default of `URLRequest`, is ignored.
    ///   - file: The file. Its folder must exist.
    ///   - existing: The handling of an existing file with this name. The default is
    ///     ``ExistingFilePolicy/fail``.
    ///   - digest: The expected digest, checked before the file gets its name. The default is
    ///     ``DownloadDigest/offered``.
    ///   - permissions: The permissions of the file. The default is `0o600`, which gives access to
    ///     its owner only.
    ///   - resumeData: The data to resume an earlier download from, if its URL has changed, for
    ///     example because it was signed again. Downloads of the same URL to the same file resume
    ///     without it, so the default is `nil`.
    ///   - options: The options that override the client's. Unlike the client's other requests, a
    ///     transfer has no overall timeout and no maximum body size, and its idle timeout is 60
    ///     seconds, unless these options specify them. The timeout covers all requests of the
    ///     download. It starts when the download begins to run or is resumed, so waiting in the
    ///     client's queue doesn't count.
    /// - Returns: The download, which has begun.
    public func download(
        _ source: some RequestConvertible,
        to file: URL,
        existing: ExistingFilePolicy = .fail,
        digest: DownloadDigest = .offered,
        permissions: Int = 0o600,
        resumeData: Download.ResumeData? = nil,
        options: RequestOptions = RequestOptions()
    ) -> Download {
        let options = DownloadOptions(
            existing: existing,
            digest: digest,
            permissions: permissions,
            resumeData: resumeData,
            request: options
        )
        return download(source, to: file, options: options)
    }

    /// Downloads a resource to a file in a folder, with the name that the server suggests
    /// (``HTTPResponse/suggestedFileName``).
    ///
    /// - Parameters:
    ///   - source: A URL, a request, an endpoint or a resource.
    ///   - folder: The folder, which must exist.
    ///   - existing: The handling of an existing file with the suggested name. The default is
    ///     ``ExistingFilePolicy/fail``.
    ///   - digest: The expected digest. The default is ``DownloadDigest/offered``.
    ///   - permissions: The permissions of the file. The default is `0o600`.
    ///   - resumeData: The data to resume an earlier download from, if its URL has changed. The
    ///     default is `nil`.
    ///   - options: The options that override the client's, as for a download to a file.
    /// - Returns: The download, which has begun.
    public func download(
        _ source: some RequestConvertible,
        into folder: URL,
        existing: ExistingFilePolicy = .fail,
        digest: DownloadDigest = .offered,
        permissions: Int = 0o600,
        resumeData: Download.ResumeData? = nil,
        options: RequestOptions = RequestOptions()
    ) -> Download {
        let options = DownloadOptions(
            existing: existing,
            digest: digest,
            permissions: permissions,
            resumeData: resumeData,
            request: options
        )
        return download(source, to: .folder(folder), options)
    }

    package func download(_ source: some RequestConvertible, to file: URL, options: DownloadOptions) -> Download {
        download(source, to: .file(file), options)
    }

    private func download(
        _ source: some RequestConvertible,
        to target: DownloadTarget,
        _ options: DownloadOptions
    ) -> Download {
        let resource = source.makeResource()
        let core = TransferCore<DownloadedFile>(client: self) { core in
            try await DownloadRun(client: self, resource: resource, target: target, options: options, core: core).run()
        }
        let download = Download(core: core)
        core.start(download)
        return download
    }
}

struct DownloadRun: Sendable {
    let client: NetworkClient
    let resource: Resource
    let target: DownloadTarget
    let options: DownloadOptions
    let core: TransferCore<DownloadedFile>

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
                core.resumeData = nil
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

    /// The identifier of a URL on the disk.
    private static func identity(of url: URL) -> String {
        let digest = try? Array(url.absoluteString.utf8).withBytes { bytes throws(CryptoError) in
            try HashFunction.sha256.hash(bytes)
        }
        return (digest ?? []).hexadecimal
    }

    private func suspend(_ part: PartFile, after error: any Error) async {
        let code = (error as? NetworkError)?.code
        let isWrong = [.rangeMismatch, .digestMismatch, .digestMissing, .digestUnverifiable, .invalidField]
            .contains(code)
        core.resumeData = try? await offloading { () -> Download.ResumeData? in
            if isWrong { part.remove() } else { part.suspend() }
            return part.record.map {
                Download.ResumeData(partPath: part.path, resource: $0.resource, count: part.count, total: $0.total)
            }
        }
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
    /// Sets the defaults of a transfer: no timeout for the whole transfer, and an idle timeout.
    func forTransfer(maximumBodySize size: Int?) -> Self {
        var options = self
        // Practically never, but still an instant that a clock can represent.
        options.timeout = timeout ?? .tenYears
        options.idleTimeout = idleTimeout ?? .seconds(60)
        options.maximumBodySize = maximumBodySize ?? size
        return options
    }
}

extension HTTPRequest {
    /// Removes the default timeout of `URLRequest`, because a transfer may take longer.
    func withoutDefaultTimeout() -> Self {
        guard timeout == .seconds(60) else { return self }
        var request = self
        request.timeout = nil
        return request
    }
}
