extension HTTPRequestData {
    /// The template of the request's path, such as `/users/{id}`, which names it in metrics and traces.
    ///
    /// Without a template, a path with identifiers in it would count as a different route for each request. The
    /// template is not sent.
    public var route: String? {
        get { self[.route] }
        set { self[.route] = newValue }
    }
}

extension RequestOptionKey {
    /// ``HTTPRequestData/route``.
    public static let route = RequestOption<String?>("route", default: nil, affects: .nothing, stored: .always)
}
