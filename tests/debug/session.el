;; A session of visim dap with dap-mode, Emacs' client: prints where the kernel stands.
;; The environment says what to start (VISIM_PYTHON) and which vISA text to debug (VISIM_TEXT).

(let ((default-directory "/usr/share/emacs/site-lisp/elpa/"))
  (normal-top-level-add-subdirs-to-load-path))
(require 'dap-mode)
(require 'dap-ui) ; which declares the filters of exceptions

(defvar visim-text (getenv "VISIM_TEXT"))
(defvar visim-steps nil "What is still to be done, one function for each stop.")
(defvar visim-is-over nil)

(defun visim-say (&rest words)
  (princ (apply #'format words))
  (terpri))

(defun visim-request (command)
  "Send a request about the thread that stands."
  (let ((session (dap--cur-session)))
    (dap--send-message
     (dap--make-request command (list :threadId (dap--debug-session-thread-id session)))
     #'ignore session)))

(defun visim-show (session)
  "Say in which line the kernel stands, if it does; do what comes next."
  (let ((frame (dap--debug-session-active-frame session)))
    (when frame
      (visim-say "line %s" (gethash "line" frame))
      (dap--send-message
       (dap--make-request "evaluate" (list :expression "turn" :frameId (gethash "id" frame)))
       (lambda (answer)
         (visim-say "turn %s" (gethash "result" (gethash "body" answer)))
         (funcall (pop visim-steps)))
       session))))

(dap-register-debug-provider
 "visim"
 (lambda (launch)
   (dap--put-if-absent launch :dap-server-path (list (getenv "VISIM_PYTHON") "-m" "visim" "dap"))
   launch))
(add-hook 'dap-stack-frame-changed-hook #'visim-show)
(add-hook 'dap-terminated-hook (lambda (_session) (setq visim-is-over t)))

(find-file visim-text)
(search-forward "add (M1_NM, 1) turn")
(dap-breakpoint-add)
(setq visim-steps
      (list (lambda () (dap-next (dap--cur-session)))
            (lambda () (visim-request "stepBack"))
            (lambda () (dap-step-in (dap--cur-session)))
            (lambda () (visim-request "reverseContinue"))
            (lambda () (dap-breakpoint-delete-all) (visim-request "continue"))))
(dap-debug
 (list :type "visim" :request "launch" :name "count" :program visim-text :device "pvc" :groups 1
       :arg (list :data "zeros:u32:8" :limit 3)))
(dotimes (_ 600)
  (unless visim-is-over (accept-process-output nil 0.1)))
(visim-say (if visim-is-over "terminated" "still there"))
