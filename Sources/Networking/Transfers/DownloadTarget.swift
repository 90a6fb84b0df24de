public import Foundation

/// Where a download's file goes.
public struct DownloadTarget: Sendable, Hashable {
    enum Wrapped: Sendable, Hashable {
        case file(URL)
        case folder(URL)
    }

    let wrapped: Wrapped

    /// A file of this name.
    ///
    /// - Parameter url: The file.
    /// - Returns: The target.
    public static func file(_ url: URL) -> Self { Self(wrapped: .file(url)) }

    /// A file in this folder, of the name that the server suggests; see ``HTTPResponse/suggestedFileName``.
    ///
    /// - Parameter url: The folder, which must be there.
    /// - Returns: The target.
    public static func folder(_ url: URL) -> Self { Self(wrapped: .folder(url)) }

    /// The path of the target, if it is known before there is a response.
    var path: String? {
        if case .file(let url) = wrapped { Self.path(url) } else { nil }
    }

    /// Its name for messages.
    var name: String {
        switch wrapped {
        case .file(let url), .folder(let url): url.lastPathComponent
        }
    }

    /// The path of the hidden file that the octets go to at first, in the folder of the target.
    ///
    /// The same target and the same URL have the same one in every process, so that each can go on where another one stopped.
    func partPath(resource: String) -> String {
        let mark = resource.prefix(16)
        switch wrapped {
        case .file(let url):
            let path = Self.path(url) as NSString
            let name = FileName.shortened(path.lastPathComponent, to: 200)
            return (path.deletingLastPathComponent as NSString).appendingPathComponent(".\(name).\(mark).part")
        case .folder(let url):
            return (Self.path(url) as NSString).appendingPathComponent(".download.\(mark).part")
        }
    }

    /// The path of the target, now that there is a response.
    func path(for response: HTTPResponse) -> String {
        switch wrapped {
        case .file(let url): Self.path(url)
        case .folder(let url):
            (Self.path(url) as NSString).appendingPathComponent(response.suggestedFileName)
        }
    }

    /// Checks that it is one.
    func check() throws(NetworkError) {
        switch wrapped {
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

/// What a download does otherwise than by default.
public struct DownloadOptions: Sendable {
    /// What happens where there is a file of the target's name already; ``ExistingFilePolicy/fail`` by default.
    public var existing: ExistingFilePolicy
    /// What the octets must be, compared before the file gets its name; ``DownloadDigest/offered`` by default.
    public var digest: DownloadDigest
    /// The permissions of the file; `0o600`, for its owner only, by default.
    public var permissions: Int
    /// What an earlier download left, to go on with it although the URL is another one now, such as a newly signed one.
    ///
    /// It is not needed for the same URL and the same target: those find by themselves what there is.
    public var resumeData: Download.ResumeData?
    /// What its requests do otherwise than the client.
    ///
    /// Other than the client's requests, those of a transfer have no timeout for the whole and no largest body, unless these options say so;
    /// and an idle timeout of 60 seconds, unless these say otherwise.
    public var request: RequestOptions

    /// Makes options.
    ///
    /// - Parameters:
    ///   - existing: What happens where there is a file of the target's name already.
    ///   - digest: What the octets must be.
    ///   - permissions: The permissions of the file.
    ///   - resumeData: What an earlier download left.
    ///   - request: What its requests do otherwise than the client.
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
