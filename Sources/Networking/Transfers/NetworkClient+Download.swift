public import Foundation

extension NetworkClient {
    /// Downloads a resource to a file.
    ///
    /// - Parameters:
    ///   - source: A URL, a request, an endpoint or a resource.
    ///   - file: The file. Its folder must exist.
    ///   - options: The options of the download.
    /// - Returns: The download, which has begun.
    public func download(
        _ source: some RequestConvertible,
        to file: URL,
        options: DownloadOptions = DownloadOptions()
    ) -> Download {
        download(source, to: .file(file), options: options)
    }

    /// Downloads a resource to a file.
    ///
    /// - Parameters:
    ///   - source: A URL, a request, an endpoint or a resource. The download's options replace a
    ///     resource's own. A `timeoutInterval` of 60 seconds, the default of `URLRequest`, is
    ///     ignored.
    ///   - target: `.file(…)`, or a folder for a file with the name that the server suggests.
    ///   - options: The options of the download.
    /// - Returns: The download, which has begun.
    public func download(
        _ source: some RequestConvertible,
        to target: DownloadTarget,
        options: DownloadOptions = DownloadOptions()
    ) -> Download {
        let resource = source.makeResource()
        let remains = DownloadResumeState()
        let core = TransferCore<DownloadedFile>(client: self) { core in
            try await DownloadRun(
                client: self,
                resource: resource,
                target: target,
                options: options,
                core: core,
                remains: remains
            ).run()
        }
        let download = Download(core: core, remains: remains)
        core.start(download)
        return download
    }
}
