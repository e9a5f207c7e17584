extension HTTPRequestData {
    /// The template of the request's path, such as `/users/{id}`, which names it in metrics and traces.
    ///
    /// Without a template, a path with identifiers in it would count as a different route for each request. The
    /// template is not sent.
    public var route: String? {
        get { self[option: RouteOption.self] }
        set { self[option: RouteOption.self] = newValue }
    }

    fileprivate enum RouteOption: RequestOption {
        static let name = "route"
        static let defaultValue: String? = nil
    }
}

extension RequestOptionKey {
    /// ``HTTPRequestData/route``.
    public static let route = RequestOptionKey(HTTPRequestData.RouteOption.self)
}
