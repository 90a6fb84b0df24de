public import Foundation

/// The destination of a download.
@nonexhaustive
public enum DownloadTarget: Sendable, Hashable {
    /// The file itself.
    case file(URL)
    /// A file in an existing folder, named as the server suggests; see
    /// ``HTTPResponse/suggestedFileName``.
    case folder(URL)

    /// The path of the target, if it's known before the response.
    var path: String? {
        if case .file(let url) = self { Self.path(url) } else { nil }
    }

    /// The target's name, for messages.
    var name: String {
        switch self {
        case .file(let url), .folder(let url): url.lastPathComponent
        }
    }

    /// Returns the path of the hidden file in the target's folder that receives the bytes first.
    ///
    /// It's the same in every process for the same target and URL, so each can resume another's
    /// download.
    func partPath(resource: String) -> String {
        let mark = resource.prefix(16)
        switch self {
        case .file(let url):
            let path = Self.path(url) as NSString
            let name = FileName.shortened(path.lastPathComponent, to: 200)
            return (path.deletingLastPathComponent as NSString).appendingPathComponent(".\(name).\(mark).part")
        case .folder(let url):
            return (Self.path(url) as NSString).appendingPathComponent(".download.\(mark).part")
        }
    }

    /// Returns the path of the target for a response.
    func path(for response: HTTPResponse) -> String {
        switch self {
        case .file(let url): Self.path(url)
        case .folder(let url):
            (Self.path(url) as NSString).appendingPathComponent(response.suggestedFileName)
        }
    }

    /// Throws an error unless the target is a file URL.
    func check() throws(NetworkError) {
        switch self {
        case .file(let url), .folder(let url):
            guard url.isFileURL, !Self.path(url).contains("\0") else {
                throw NetworkError(.invalidRequest, "the target of a download must be a file URL; nothing was sent")
            }
        }
    }

    private static func path(_ url: URL) -> String {
        url.absoluteURL.path(percentEncoded: false)
    }
}

/// The options of a download.
public struct DownloadOptions: Sendable {
    /// The handling of an existing file with the target's name; the default is
    /// ``ExistingFilePolicy/fail``.
    public var existing: ExistingFilePolicy
    /// The expected digest, checked before the file gets its name; the default is
    /// ``DownloadDigest/offered``.
    public var digest: DownloadDigest
    /// The permissions of the file; the default is `0o600`, which gives access to its owner only.
    public var permissions: Int
    /// The data to resume an earlier download from, if its URL has changed, for example because it
    /// was signed again.
    ///
    /// Downloads of the same URL to the same target resume without it.
    public var resumeData: Download.ResumeData?
    /// The options that override the client's.
    ///
    /// Unlike the client's other requests, a transfer has no overall timeout and no maximum body
    /// size, and its idle timeout is 60 seconds, unless these options specify them. The timeout
    /// covers all requests of the download. It starts when the download begins to run or is
    /// resumed, so waiting in the client's queue doesn't count.
    public var request: RequestOptions

    /// Creates options.
    ///
    /// - Parameters:
    ///   - existing: The handling of an existing file with the target's name. The default is
    ///     `fail`.
    ///   - digest: The expected digest. The default is `offered`.
    ///   - permissions: The permissions of the file. The default is `0o600`.
    ///   - resumeData: The data to resume an earlier download from.
    ///   - request: The options that override the client's.
    public init(
        existing: ExistingFilePolicy = .fail,
        digest: DownloadDigest = .offered,
        permissions: Int = 0o600,
        resumeData: Download.ResumeData? = nil,
        request: RequestOptions = RequestOptions()
    ) {
        self.existing = existing
        self.digest = digest
        self.permissions = permissions
        self.resumeData = resumeData
        self.request = request
    }
}
