#if TestServer
public import HTTPTypes
import NetworkingCore

extension TestServer {
    /// Receives resumable uploads at a path.
    ///
    /// Requests to the path create uploads with any method. Each upload has a path below it, such as `/films/1`, for
    /// `HEAD`, `PATCH` and `DELETE`. `OPTIONS` returns the supported protocols and the limits.
    ///
    /// ```swift
    /// let uploads = server.routeUploads("/films") { upload in
    ///     .text("film of \(upload.offset) bytes", status: .created)
    /// }
    /// ```
    ///
    /// A request is for tus if it has `Tus-Resumable`, and for the draft if it has `Upload-Complete`. Any other request
    /// with a body is an ordinary request, which gets the response of `completion`.
    ///
    /// Such requests are recorded with their heads. As with ``route(_:_:times:handler:)``, queued responses and newer
    /// routes take precedence.
    ///
    /// - Parameters:
    ///   - path: The path, without a trailing slash.
    ///   - options: The protocols, the limits and the storage.
    ///   - completion: Returns the response to the request that completes an upload. tus responds with `204`.
    /// - Returns: The uploads, to read them and to queue faults.
    /// - Precondition: `path` starts with `/` and has neither parameters nor `*`.
    @discardableResult
    public func routeUploads(
        _ path: String,
        options: TestUploads.Options = TestUploads.Options(),
        completion: @escaping TestUploads.Completion = { _ in .status(.created) }
    ) -> TestUploads {
        precondition(
            path.count > 1 && !path.contains { ":*".contains($0) },
            "the path of uploads is no pattern and not the root (is \(path))"
        )
        let uploads = TestUploads(
            path: path,
            origin: url,
            options: options,
            clock: switchboard.clock,
            completion: completion
        )
        let clock = switchboard.clock
        for pattern in [path, "\(path)/:upload"] {
            _ = add(
                nil,
                pattern,
                times: .max,
                respondsAfterHead: true,
                .receiver { request, body in
                    try await UploadExchange(request, uploads, clock).response(receiving: &body)
                }
            )
        }
        return uploads
    }
}
#endif
