;;; dap-mode.el --- A debug session in Emacs with the real dap-mode  -*- lexical-binding: t; -*-

;; emacs --batch -q -l dap-mode.el RAYDBG TASK FILE LINE
;;
;; What happens is printed, a line each, for test_editors.py.

(require 'package)
(package-initialize)
(require 'dap-mode)
(require 'dap-ui) ; without it dap-mode 0.7 fails at the first answer to setBreakpoints

(pcase-let ((`(,binary ,task ,file ,line) command-line-args-left))
  (setq command-line-args-left nil)

  (defun say (&rest words)
    (princ (concat (mapconcat (lambda (word) (format "%s" word)) words " ") "\n")))

  (defun wait-for (find what)
    (let ((until (+ (float-time) 60)) found)
      (while (not (setq found (funcall find)))
        (when (> (float-time) until)
          (say "FAIL" what "did not come")
          (kill-emacs 1))
        (accept-process-output nil 0.01))
      found))

  (defun say-stop (session)
    "Wait for the stack that dap-mode asks for after a stop, and say where it is."
    (let ((frame (wait-for (lambda () (dap--debug-session-active-frame session)) "a stop")))
      (say "stopped" (gethash "name" frame) (file-name-nondirectory (gethash "path" (gethash "source" frame)))
           (gethash "line" frame))
      (dolist (scope (append (gethash "scopes" (dap-request session "scopes" :frameId (gethash "id" frame))) nil))
        (unless (eq (gethash "expensive" scope) t)
          (dolist (variable (append (gethash "variables"
                                             (dap-request session "variables" :variablesReference
                                                          (gethash "variablesReference" scope)))
                                    nil))
            (say "variable" (gethash "name" variable) (gethash "value" variable)))))))

  ;; The configuration of docs/editors.md.
  (dap-register-debug-provider
   "raydbg" (lambda (conf) (plist-put conf :dap-server-path (list binary "dap"))))

  (find-file file)
  (goto-char (point-min))
  (forward-line (1- (string-to-number line)))
  (dap-breakpoint-add)
  (dap-debug (list :type "raydbg" :request "attach" :name "Ray task" :task task))
  (let ((session (wait-for #'dap--cur-session "a session")))
    (say-stop session)
    (say "evaluate" (gethash "result" (dap-request session "evaluate" :expression "number + 1" :context "repl"
                                                   :frameId (gethash "id" (dap--debug-session-active-frame session)))))
    (dap-next session)
    (say-stop session)
    (dap-continue session (dap--debug-session-thread-id session))
    (say-stop session)
    (dap-breakpoint-delete-all)
    (dap-continue session (dap--debug-session-thread-id session))
    (dap-disconnect session)
    ;; A session ends with the adapter's `terminated', or with the adapter, whose end Emacs handles after it has noticed it.
    (wait-for (lambda () (eq (dap--debug-session-state session) 'terminated)) "the session's end")
    (wait-for (lambda () (not (process-live-p (dap--debug-session-proc session)))) "the adapter's end")
    (say "ended" (dap--debug-session-state session))))

;;; dap-mode.el ends here
